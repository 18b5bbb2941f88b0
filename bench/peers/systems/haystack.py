"""Haystack: its store in memory, searched by BM25 or by vectors, and its extractive reader over the best ten.

As its page on the reader has it, with that reader's defaults: it gives every span sigmoid(0.1 (start + end)), a "no
answer" the product of what all others lack, and does not look at the model's own [CLS].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.peers.child import Line, System, whole


def system(options: dict[str, Any]) -> System:
    return Haystack(options)


class Haystack:
    def __init__(self, options: dict[str, Any]) -> None:
        import torch

        torch.set_num_threads(options["threads"])
        self._models, self._search = options["models"], options["search"]
        self._reader: Any = None
        self._embedders: tuple[Any, Any] | None = None
        self._pipeline: Any = None

    def ingest(self, passages: Sequence[Line]) -> None:
        from haystack import Document, Pipeline
        from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        documents = [Document(id=each["key"], content=whole(each)) for each in passages]
        store = InMemoryDocumentStore(**({"embedding_similarity_function": "cosine"} if self._vectors else {}))
        self._pipeline = Pipeline()
        reader = self._made_reader()
        if self._vectors:
            of_documents, of_questions = self._made_embedders()
            documents = of_documents.run(documents)["documents"]
            self._pipeline.add_component("embedder", of_questions)
            self._pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store))
            self._pipeline.connect("embedder.embedding", "retriever.query_embedding")
        else:
            self._pipeline.add_component("retriever", InMemoryBM25Retriever(store))
        store.write_documents(documents)
        self._pipeline.add_component("reader", reader)
        self._pipeline.connect("retriever.documents", "reader.documents")

    def ask(self, question: str) -> Line:
        asked = {"embedder": {"text": question}} if self._vectors else {"retriever": {"query": question}}
        answers = self._pipeline.run({**asked, "reader": {"query": question}})["reader"]["answers"]
        best = next((answer for answer in answers if answer.data is not None), None)
        if best is None:
            return {"text": None, "score": 0.0, "shown": []}
        declined = answers[0].data is None
        place = {"key": best.document.id, "start": best.document_offset.start, "end": best.document_offset.end}
        return {
            "text": None if declined else best.data,
            "withheld": best.data if declined else None,
            "score": best.score,
            "shown": [best.document.id],
            "quote": best.data,
            **place,
        }

    @property
    def _vectors(self) -> bool:
        return bool(self._search == "vectors")

    def _made_reader(self) -> Any:
        """The reader with the model that was loaded first; a component belongs to one pipeline."""
        from haystack_integrations.components.readers.transformers import TransformersExtractiveReader

        from bench.peers.systems.exported import use

        use()
        reader = TransformersExtractiveReader(model=f"{self._models}/reader")
        if self._reader is None:
            reader.warm_up()
            self._reader = reader
        reader.model, reader.tokenizer, reader.device = self._reader.model, self._reader.tokenizer, self._reader.device
        return reader

    def _made_embedders(self) -> tuple[Any, Any]:
        from haystack_integrations.components.embedders.sentence_transformers import (
            SentenceTransformersDocumentEmbedder,
            SentenceTransformersTextEmbedder,
        )

        name = f"{self._models}/minilm"
        of_documents = SentenceTransformersDocumentEmbedder(model=name, progress_bar=False)
        of_questions = SentenceTransformersTextEmbedder(model=name, progress_bar=False)
        of_documents.warm_up()
        of_questions.warm_up()
        return of_documents, of_questions
