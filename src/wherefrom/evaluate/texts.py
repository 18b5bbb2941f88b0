"""What networks wrote about validation examples, scored on texts: the tables of Masque and PREAST-QA, on our material.

ROUGE-L and BLEU as MS MARCO scores them, lowercased; EM and F1 as SQuAD does; stories as NarrativeQA is scored.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from wherefrom.data.catalog import DATASETS, Dataset
from wherefrom.data.examples import Example, whole
from wherefrom.errors import WherefromError
from wherefrom.evaluate.predictions import Prediction
from wherefrom.evaluate.score import DatasetScores, Difference, compare, metrics_of, score, scored
from wherefrom.evaluate.validation_answers import ValidationAnswer
from wherefrom.features.querytype import query_type
from wherefrom.metrics.answers import contains_answer
from wherefrom.metrics.styles import keyword, repeated_ngram_rate, zero_overlap
from wherefrom.types import Question

References = Literal["sentences", "answers"]
Spell = Callable[[Sequence[int]], str]  # wordpieces as text; scores do not see case and spacing
NARRATIVE = ("narrative", "narrative in sentences")  # how stories are asked about


@dataclass(frozen=True, slots=True)
class ReferenceTexts:
    """The question of an example, with its answers and sentences as they were written."""

    question: str
    answers: tuple[str, ...]  # those that are targets; where there are none, those that serve style transfer alone
    sentences: tuple[str, ...]


def texts_beside(material: Path) -> Path:
    """One line an example of a material: question, answers and sentences as they were written."""
    return material.with_suffix(".texts.jsonl.gz")


def passages_beside(material: Path) -> Path:
    """One line a passage of the validation examples, with the token that its tokens begin at."""
    return material.with_suffix(".passages.jsonl.gz")


def validation_texts(path: Path) -> dict[int, ReferenceTexts]:
    """The examples that are never trained on, by number."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return {
            line["example"]: ReferenceTexts(
                line["question"],
                tuple(line["answers"][: line["references"]] or line["answers"]),
                tuple(line["sentences"]),
            )
            for line in map(json.loads, lines)
            if line["valid"] or any(line["held"])
        }


def questions(path: Path) -> dict[int, str]:
    """Every question of the material, those of training too, by number of example."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return {line["example"]: line["question"] for line in map(json.loads, lines)}


def groups_of(question: str) -> tuple[str, str]:
    """The two groups of PREAST-QA's Table 5.4 that a question is in, such as "type Numeric" and "keyword how"."""
    return f"type {query_type(question).capitalize()}", f"keyword {keyword(question)}"


def by_request(answers: Sequence[ValidationAnswer]) -> dict[str, list[ValidationAnswer]]:
    groups: dict[str, list[ValidationAnswer]] = defaultdict(list)
    for answer in answers:
        groups[answer.request].append(answer)
    return dict(groups)


def written_texts(answers: Sequence[ValidationAnswer], spell: Spell) -> dict[int, str]:
    """What was written where something should have been, by example."""
    return {
        answer.example: spell(answer.tokens)
        for answer in answers
        if answer.tokens is not None and answer.target is not None
    }


def all_scores(
    answers: Sequence[ValidationAnswer], texts: Mapping[int, ReferenceTexts], spell: Spell
) -> dict[str, DatasetScores]:
    """DatasetScores by request; of `short`, the passages' ranking and answerability too, under `passages`."""
    groups = by_request(answers)
    scores: dict[str, DatasetScores] = {}
    for request, group in groups.items():
        written = written_texts(group, spell)
        if written and request != "shuffled":  # a probe of the classifier; see `_flipped`
            scores[request] = text_scores(request, written, texts)
    if "short" in groups:
        scores["passages"] = passage_scores(groups["short"], texts, groups.get("shuffled", ()))
    return scores


def text_scores(request: str, written: Mapping[int, str], texts: Mapping[int, ReferenceTexts]) -> DatasetScores:
    """DatasetScores of what was written to each example, with intervals and by group."""
    examples, predictions = _examples(written, texts, _references(request))
    scores = score(_dataset(request), examples, predictions)
    return replace(scores, metrics=scores.metrics | text_metrics(request, written, texts))


def text_metrics(
    request: str, written: Mapping[int, str], texts: Mapping[int, ReferenceTexts], against: References | None = None
) -> dict[str, float]:
    """The plain numbers, in percent.

    `against`: what the gold is; without it, sentences where sentences were asked for, else short answers.
    """
    rows = scored(_dataset(request), *_examples(written, texts, against or _references(request)))
    exact = [row.values["rouge_l"] >= 1 - 1e-9 for row in rows]
    return {
        **metrics_of(_dataset(request), rows),
        "exact": 100 * sum(exact) / len(exact),  # ROUGE-L of 1
        "repeated_4_grams": 100 * repeated_ngram_rate(list(written.values()), 4),
    }


def text_differences(
    request: str, one: Mapping[int, str], other: Mapping[int, str], texts: Mapping[int, ReferenceTexts]
) -> dict[str, Difference]:
    """By how much the first is better over the examples that both have, metric by metric."""
    return compare(*(scored(_dataset(request), *_examples(each, texts, _references(request))) for each in (one, other)))


def passage_scores(
    answers: Sequence[ValidationAnswer], texts: Mapping[int, ReferenceTexts], shuffled: Sequence[ValidationAnswer] = ()
) -> DatasetScores:
    """How well passages are ranked where one is relevant, and how well answerability is known."""
    examples = [
        Example(
            Question(str(answer.example), texts[answer.example].question),
            tuple(whole(str(place), "") for place in range(len(answer.relevant))),
            tuple(answer.relevant),
            answerable=answer.answerable,
        )
        for answer in answers
    ]
    predictions = {
        str(answer.example): Prediction(
            str(answer.example),
            chance=answer.chance,
            ranking=tuple((str(place), value) for place, value in enumerate(answer.scores)),
        )
        for answer in answers
    }
    scores = score(DATASETS["msmarco"], examples, predictions)
    return replace(scores, metrics=scores.metrics | _flipped(answers, shuffled))


def between_styles(sentences: Mapping[int, str], shorts: Mapping[int, str]) -> dict[str, float]:
    """How well the two styles of one question agree."""
    shared = sorted(sentences.keys() & shorts.keys())
    in_full, shortly = ([style[key] for key in shared] for style in (sentences, shorts))
    holds = [contains_answer(text, [answer]) for text, answer in zip(in_full, shortly, strict=True)]
    return {
        "examples": len(shared),
        "zero_overlap": 100 * zero_overlap(in_full, shortly),
        "sentence_holds_short": 100 * sum(holds) / len(holds),
    }


def _examples(
    written: Mapping[int, str], texts: Mapping[int, ReferenceTexts], against: References
) -> tuple[list[Example], dict[str, Prediction]]:
    unknown = [example for example in written if example not in texts]
    if unknown:
        raise WherefromError(f"example {unknown[0]} was answered, which is not among those of validation")
    examples = [
        Example(
            Question(str(number), texts[number].question),
            answers=tuple(gold.lower() for gold in getattr(texts[number], against)),
        )
        for number in written
    ]
    return examples, {str(number): Prediction(str(number), text.lower()) for number, text in written.items()}


def _references(request: str) -> References:
    return "sentences" if request in ("sentence", "given") else "answers"


def _dataset(request: str) -> Dataset:
    return DATASETS["narrativeqa" if request in NARRATIVE else "msmarco"]


def _flipped(answers: Sequence[ValidationAnswer], shuffled: Sequence[ValidationAnswer]) -> dict[str, float]:
    """How often the decision at 0.5 changes when the passages are shuffled; nothing where they were not."""
    before = {answer.example: answer.chance >= 0.5 for answer in answers}
    changed = [before[answer.example] != (answer.chance >= 0.5) for answer in shuffled if answer.example in before]
    return {"flipped": 100 * sum(changed) / len(changed)} if changed else {}
