"""What an exported writer is worth alone, apart from the reader: told the gold answer, asked shortly, told of stories.

    python -m wherefrom.systems.writer.measure WEIGHTS MATERIAL.safetensors OUT.json [--most N] [--passages K]

`told`: sentences of unseen articles, given the gold short answer. `short`: ten passages, no answer given. `narrative`:
NarrativeQA's validation stories in their own style. As shipped: 8 bits, onnxruntime, on the CPU.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherefrom.durable import write_text
from wherefrom.origin import commit_of, file_hash
from wherefrom.runtime.search import SearchSettings
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import Short, WriterSession, WritingTask
from wherefrom.systems.writer.corpus import passages_beside, texts_beside
from wherefrom.systems.writer.material import NARRATIVEQA, TEN_PASSAGES, Material, load
from wherefrom.systems.writer.texts import Line, text_scores, told
from wherefrom.train.progress import paced
from wherefrom.types import Passage, joined
from wherefrom.write.marks import WrittenStyle
from wherefrom.write.masque import words_of

_TOGETHER = 8  # questions written for at a time


@dataclass(frozen=True, slots=True)
class Shown:
    """The validation examples as texts."""

    material: Material
    texts: dict[int, Line]
    passages: dict[int, Passage]

    @classmethod
    def of(cls, material: Path) -> Shown:
        found: dict[int, Passage] = {}
        with gzip.open(passages_beside(material), "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                found[row["passage"]] = Passage(row["id"], row["id"], row["text"], 0, len(row["text"]), row["title"])
        return cls(load(material), told(texts_beside(material)), found)

    def told(self, passages: int) -> Iterator[tuple[int, WritingTask]]:
        """Sentences to be made of gold answers; the gold passage comes first, as a good ranker has it."""
        for example, line in self._of(TEN_PASSAGES):
            gold = self.passages.get(int(self.material["gold"][example]))
            answer = line["answers"][0]
            if not line["sentences"] or gold is None or answer not in gold.text:
                continue
            others = [passage for passage in self._given(example) if passage is not gold]
            at = gold.text.index(answer)
            yield (
                example,
                WritingTask(line["question"], (gold, *others[: passages - 1]), Short(0, at, at + len(answer))),
            )

    def short(self) -> Iterator[tuple[int, WritingTask]]:
        for example, line in self._of(TEN_PASSAGES):
            if self.material["answerable"][example]:
                yield example, WritingTask(line["question"], tuple(self._given(example)))

    def narrative(self) -> Iterator[tuple[int, WritingTask]]:
        for example, line in self._of(NARRATIVEQA):
            yield example, WritingTask(line["question"], tuple(self._given(example)))

    def _of(self, source: int) -> Iterator[tuple[int, Line]]:
        for example, line in self.texts.items():
            if self.material["valid"][example] and self.material["source"][example] == source:
                yield example, line

    def _given(self, example: int) -> list[Passage]:
        numbers = self.material["passages"][example].tolist()
        return [self.passages[number] for number in numbers if number in self.passages]


def written(
    session: WriterSession,
    asked: Sequence[tuple[int, WritingTask]],
    style: WrittenStyle,
    report: Callable[[int, int], None],
) -> dict[int, str]:
    """What the network says to each example, greedily."""
    said: dict[int, str] = {}
    report(0, len(asked))
    for begin in range(0, len(asked), _TOGETHER):
        some = asked[begin : begin + _TOGETHER]
        found = session.write([task for _, task in some], style, SearchSettings())
        for (example, task), answers in zip(some, found, strict=True):
            words = words_of(answers.written[0], answers.places, task, style, session)
            said[example] = joined(words)
        report(len(said), len(asked))
    return said


def measure(weights: Path, material: Path, most: int, passages: int, say: Callable[[str], None]) -> dict[str, Any]:
    """All three, on at most so many examples each, evenly spread."""
    shown, session = Shown.of(material), WriterSession(Weights(weights), threads=2)
    kinds: dict[str, tuple[list[tuple[int, WritingTask]], WrittenStyle]] = {
        "told": (list(shown.told(passages)), "sentence"),
        "short": (list(shown.short()), "short"),
        "narrative": (list(shown.narrative()), "narrative"),
    }
    found: dict[str, Any] = {}
    for name, (asked, style) in kinds.items():
        if not asked:  # a material without stories, say
            continue
        count = min(most or len(asked), len(asked))
        spread = [asked[place * len(asked) // count] for place in range(count)]
        scores = text_scores(name, written(session, spread, style, paced(name, say)), shown.texts)
        found[name] = {key: value for key, value in scores.items() if key not in ("each", "said")}
    return found


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("material", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=int, default=0, help="examples of each kind; 0: all")
    parser.add_argument("--passages", type=int, default=3, help="that a sentence is written from")
    given = parser.parse_args(arguments)
    commit, changed = commit_of()
    files = {file.name: file_hash(file) for file in sorted(given.weights.iterdir()) if file.suffix in (".onnx", ".npy")}
    found = measure(given.weights, given.material, given.most, given.passages, print)
    about = {"commit": commit, "uncommitted_changes": changed, "weights": files, "material": file_hash(given.material)}
    write_text(given.out, json.dumps({**found, "run": about}, indent=1) + "\n")
    for name, scores in found.items():
        print(name, {key: round(value, 2) for key, value in scores.items() if isinstance(value, int | float)})


if __name__ == "__main__":
    main(sys.argv[1:])
