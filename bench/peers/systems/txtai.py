"""txtai: its embeddings database, by words or by vectors, with extractive question answering over the best three.

As its notebook "Extractive QA with txtai" has it, with content stored and the answer's source asked for (`output=
"reference"`). txtai looks for start and end anywhere, so that the model's [CLS] says nothing (as in SQuAD 1.1, which
txtai's own default model was trained on), and declines where their probability is below 0.05; it gives out no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.peers.child import Line, System, whole

_READ = 3  # txtai's own default


def system(options: dict[str, Any]) -> System:
    return Txtai(options)


class Txtai:
    def __init__(self, options: dict[str, Any]) -> None:
        import torch

        torch.set_num_threads(options["threads"])
        self._models, self._search = options["models"], options["search"]
        self._model: Any = None
        self._embeddings: Any = None
        self._rag: Any = None

    def ingest(self, passages: Sequence[Line]) -> None:
        from txtai import Embeddings
        from txtai.pipeline import RAG

        search = {"path": f"{self._models}/minilm", "gpu": False} if self._search == "vectors" else {"keyword": True}
        self._embeddings = Embeddings({**search, "content": True})
        self._embeddings.index((each["key"], whole(each), None) for each in passages)
        output = "reference" if self._search == "vectors" else "default"
        self._rag = RAG(self._embeddings, self._questions(), output=output)

    def ask(self, question: str) -> Line:
        answered = self._rag([{"query": question, "question": question}])[0]
        text = answered["answer"] or None
        if "reference" in answered:
            shown = [answered["reference"]]
        else:  # without vectors it names no source: these are the passages that it read
            shown = [hit["id"] for hit in self._embeddings.search(question, _READ)]
        return {"text": text, "score": None, "shown": shown}

    def _questions(self) -> Any:
        """The reader, loaded once."""
        from txtai.pipeline import Questions

        from bench.peers.systems.exported import use

        if self._model is None:
            use(no_answer=False)
            self._model = Questions(f"{self._models}/reader", gpu=False)
        return self._model
