"""A peer that knows nothing: it says the last word of the passage that shares most words with the question."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from bench.peers.child import Line, whole


class Fake:
    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._texts: dict[str, str] = {}

    def ingest(self, passages: Sequence[Line]) -> None:
        print("what a system prints is no answer")
        self._texts = {each["key"]: whole(each) for each in passages}

    def ask(self, question: str) -> Line:
        if question == self._options.get("fails_at"):
            raise RuntimeError("the fake has no answer to this")
        time.sleep(0.001)
        words = set(question.lower().split())
        key = max(self._texts, key=lambda each: len(words & set(self._texts[each].lower().split())))
        text = self._texts[key]
        last = text.split()[-1]
        start = text.rindex(last)
        place = {"key": key, "quote": last, "start": start, "end": start + len(last)}
        shared = len(words & set(text.lower().split()))
        return {"text": last if shared else None, "withheld": last, "score": float(shared), "shown": [key], **place}


def system(options: dict[str, Any]) -> Fake:
    return Fake(options)
