"""Questions without passages become examples: of the passages retrieved for them, those that contain the answer.

Distant supervision (Chen et al. 2017, section 4.3; rankqa-drqa): a passage is kept if an answer stands in it, if it is
neither too short nor too long, and if it shares words with the question; the best few by shared words are kept. Chance
occurrences come with it: the spans are not sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from wherefrom.data.examples import Example, GoldSpan
from wherefrom.data.locating import occurrences
from wherefrom.features.forms import stems
from wherefrom.features.tokens import tokens
from wherefrom.systems.drqa.settings import DistantSettings
from wherefrom.text import FUNCTION_WORDS
from wherefrom.types import Hit, Passage


def distant(
    examples: Iterable[Example], hits: Iterable[Sequence[Hit]], settings: DistantSettings | None = None
) -> Iterator[Example]:
    """The examples, each with those of its hits that contain an answer; a question without any is left out."""
    settings = settings or DistantSettings()
    for example, retrieved in zip(examples, hits, strict=True):
        question = content(example.question.text)
        believed: list[tuple[int, Passage, list[GoldSpan]]] = []
        for hit in retrieved:
            spans = answers_in(example, hit.passage, settings)
            shared = len(question & content(hit.passage.text))
            if spans and shared >= settings.shared:
                believed.append((shared, hit.passage, spans))
        best = sorted(believed, key=lambda row: -row[0])[: settings.passages]  # equal ones keep the order of the hits
        if best:
            yield replace(
                example,
                passages=tuple(passage for _, passage, _ in best),
                relevant=(True,) * len(best),
                grades=(),
                spans=tuple(span for _, _, spans in best for span in spans),
                answers=example.answers or tuple(dict.fromkeys(span.text for _, _, spans in best for span in spans)),
            )


def answers_in(example: Example, passage: Passage, settings: DistantSettings) -> list[GoldSpan]:
    """Every place of an answer, by its wording or by the dataset's patterns; none in a passage of the wrong length."""
    if not settings.least <= len(passage.text) <= settings.most:
        return []
    spans = [span for answer in example.answers for span in occurrences(answer, passage)]
    for pattern in example.patterns:
        spans += [
            GoldSpan(passage.id, place.start(), place.end(), place[0], sure=False)
            for place in re.finditer(pattern, passage.text, re.IGNORECASE)
            if place[0].strip()
        ]
    return [span for span in dict.fromkeys(spans) if len(tokens(span.text)) <= settings.longest]


def content(text: str) -> set[str]:
    """Stems of the words that say what a text is about."""
    small = [text[start:end].lower() for start, end in tokens(text)]
    return set(stems([word for word in small if word[0].isalnum() and word not in FUNCTION_WORDS]))
