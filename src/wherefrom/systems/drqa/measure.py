"""What DrQA's reader is worth on SQuAD's validation questions, with our tagger's tags and with spaCy's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors import safe_open

from wherefrom.build import build
from wherefrom.config import Settings, updated
from wherefrom.data import squad
from wherefrom.data.examples import Example
from wherefrom.evaluate.first_answers import MeasureSettings, first_answer_scores
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.features.tokens import tokens
from wherefrom.read.drqa import DrQAReader
from wherefrom.runtime.drqa import DrQASession
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Reader
from wherefrom.train.errors import TrainingError
from wherefrom.train.progress import paced
from wherefrom.train.stages import Say, needed

_LONGEST = 30  # tokens of an answer, as read.max_tokens has it; the weights say how many of them DrQA allows


def squad_scores(
    weights: Path, material: Path, data: Path, tagger: str, settings: MeasureSettings, say: Say
) -> dict[str, Any]:
    """Exact match and F1, each question over its own paragraph."""
    examples = list(squad.load(data / "squad", "valid"))
    spread = evenly_spread(examples, settings.questions)
    given = MaterialTags(needed(material, "material"), examples)
    session = DrQASession(Weights(weights), settings.threads)
    runtime = {"drqa": str(weights.absolute()), "tagger": tagger, "threads": settings.threads}
    readers: dict[str, Reader] = {
        "tagger": build(updated(Settings(), {"read": {"kind": "drqa"}, "runtime": runtime}), None).reader,
        "spaCy's tags": DrQAReader(session, given, given.pos, given.ner, 1, _LONGEST),
    }
    scores = {
        name: first_answer_scores(reader, spread, paced(f"measure, {name}", say)) for name, reader in readers.items()
    }
    for name, each in scores.items():
        say(
            f"measure: {name}: exact match {each['em']:.2f}, F1 {each['f1']:.2f} "
            f"on {len(spread):,} questions of squad, valid"
        )
    return {"questions": len(spread), **scores}


@dataclass(frozen=True, slots=True)
class _TokenTags:
    pos: NDArray[numpy.uint8]
    ner: NDArray[numpy.uint8]


class MaterialTags:
    """The tags that the material has of validation passages, in place of a tagger: what training saw."""

    def __init__(self, material: Path, examples: Sequence[Example]) -> None:
        with safe_open(material, framework="numpy") as file:
            about = json.loads(file.metadata()["about"])
            starts = file.get_tensor("passage_starts")
            pos, ner = file.get_tensor("passage_pos"), file.get_tensor("passage_ner")
        self.pos, self.ner = tuple(about["pos"]), tuple(about["ner"])
        texts = list(dict.fromkeys(example.passages[0].text for example in examples))  # the material begins with these
        if [len(tokens(text)) for text in texts] != numpy.diff(starts)[: len(texts)].tolist():
            raise TrainingError(f"{material} is of other validation passages; make it anew (--stage material)")
        self._tags = {
            text: _TokenTags(pos[starts[number] : starts[number + 1]], ner[starts[number] : starts[number + 1]])
            for number, text in enumerate(texts)
        }

    def tag(self, texts: Sequence[str]) -> list[_TokenTags]:
        return [self._tags[text] for text in texts]
