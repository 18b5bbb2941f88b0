"""LlamaIndex: its BM25 retriever or a vector index, with its query engine and a small model that writes.

As its pages "BM25 Retriever" and "HuggingFace LLM" have it; two passages a question, its default, and its own prompt.
LlamaIndex has no extractive reader. It gives out no score of an answer and never declines by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.peers.child import Line, System, whole


def system(options: dict[str, Any]) -> System:
    return LlamaIndex(options)


class LlamaIndex:
    def __init__(self, options: dict[str, Any]) -> None:
        import torch

        torch.set_num_threads(options["threads"])
        self._models, self._search = options["models"], options["search"]
        self._llm: Any = None
        self._embedder: Any = None
        self._engine: Any = None

    def ingest(self, passages: Sequence[Line]) -> None:
        from llama_index.core.query_engine import RetrieverQueryEngine
        from llama_index.core.schema import TextNode

        nodes = [TextNode(id_=each["key"], text=whole(each)) for each in passages]
        retriever = self._by_vectors(nodes) if self._search == "vectors" else self._by_words(nodes)
        self._engine = RetrieverQueryEngine.from_args(retriever, llm=self._writer())

    def ask(self, question: str) -> Line:
        response = self._engine.query(question)
        text = str(response).strip() or None
        return {"text": text, "score": None, "shown": [node.node.node_id for node in response.source_nodes]}

    def _by_words(self, nodes: Sequence[Any]) -> Any:
        from llama_index.retrievers.bm25 import BM25Retriever

        return BM25Retriever.from_defaults(nodes=list(nodes))

    def _by_vectors(self, nodes: Sequence[Any]) -> Any:
        from llama_index.core import VectorStoreIndex
        from llama_index.embeddings.huggingface import HuggingFaceEmbedding

        if self._embedder is None:
            self._embedder = HuggingFaceEmbedding(model_name=f"{self._models}/minilm", device="cpu")
        return VectorStoreIndex(list(nodes), embed_model=self._embedder).as_retriever()

    def _writer(self) -> Any:
        from llama_index.llms.huggingface import HuggingFaceLLM

        if self._llm is None:
            name = f"{self._models}/smollm2"
            self._llm = HuggingFaceLLM(
                model_name=name,
                tokenizer_name=name,
                context_window=2048,
                max_new_tokens=48,  # answers here are short; each word costs 50 ms
                generate_kwargs={"do_sample": False},
                is_chat_model=True,
                device_map="cpu",
            )
        return self._llm
