"""Sentences that people wrote for a question and its short answer, and what can go wrong with such sentences.

QA2D, VANiLLa, VQuAnDa and ParaQA have people's sentences. Garbled ones are made of them in the ways in which a writer
network fails: the verb is lost or keeps the question's form, an auxiliary is left over, the answer stands at the wrong
place or behind the question's own order of words, a phrase comes twice, two parts change places, a small word is lost
or another. QA2D's rule-based sentences count as garbled where they are far from what a person wrote.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from wherefrom.data import paraqa, qa2d, squad, vanilla, vquanda
from wherefrom.data.detokenize import detokenized
from wherefrom.data.examples import Example
from wherefrom.data.opening import split_file, tsv_rows
from wherefrom.features.fluency import ToldAnswer
from wherefrom.text import FUNCTION_WORDS

_AUXILIARIES = frozenset(
    "is are was were am do does did has have had can could will would should must may might been be".split()
)
_WH = frozenset("who whom whose which what when where why how".split())
_SMALL = tuple("of in to for on by with at from that is was are".split())
_FAR = 0.72  # of a rule-based sentence's words in the order of the human one; below it is garbled


@dataclass(frozen=True, slots=True)
class FluencyRow:
    """A sentence, whether a person wrote it, and how it went wrong if not."""

    statement: ToldAnswer
    well: bool
    way: str  # "human", or what was done
    held_out: bool


def rows(data: Path, seed: int, ways: int) -> list[FluencyRow]:
    """All sentences, each with `ways` garbled ones; held out: those of SQuAD's validation articles, one in ten."""
    made: list[FluencyRow] = []
    generator = random.Random(seed)
    for statement, held_out, rule_based in _human(data):
        made.append(FluencyRow(statement, True, "human", held_out))
        broken: set[str] = set()
        for name, way in generator.sample(_WAYS, len(_WAYS)):
            if len(broken) == ways:
                break
            garbled = way(statement, generator)
            if garbled and _letters(garbled) not in {_letters(statement.sentence), *map(_letters, broken)}:
                broken.add(garbled)
                made.append(
                    FluencyRow(ToldAnswer(statement.question, statement.answer, garbled), False, name, held_out)
                )
        if rule_based and _likeness(rule_based, statement.sentence) < _FAR:
            made.append(
                FluencyRow(ToldAnswer(statement.question, statement.answer, rule_based), False, "rule-based", held_out)
            )
    return made


def _human(data: Path) -> Iterator[tuple[ToldAnswer, bool, str]]:
    """People's sentences, whether they are held out, and the rule-based one beside."""
    on_valid = {_letters(example.question.text) for example in squad.load(data / "squad", "valid")}
    for split in ("train", "valid"):
        by_rule = [
            detokenized(row["rule-based"].strip())
            for _, row in tsv_rows(split_file(data / "qa2d", split, qa2d.FILES), qa2d.COLUMNS)
        ]
        for example, rule in zip(qa2d.load(data / "qa2d", split, detokenize=True), by_rule, strict=True):
            held_out = split == "valid" or _letters(example.question.text) in on_valid
            yield from ((statement, held_out, rule) for statement in _of(example))
    folder = data / "full_sentence"
    sources: Sequence[Iterator[Example]] = (
        vanilla.load(folder / "vanilla", "train"),
        vquanda.load(folder / "vquanda", "train"),
        paraqa.load(folder / "paraqa", "train"),
    )
    for source in sources:
        for number, example in enumerate(source):
            yield from ((statement, number % 10 == 0, "") for statement in list(_of(example))[:2])


def _of(example: Example) -> Iterator[ToldAnswer]:
    """The sentences that end as such, each also with the question as people type it."""
    for sentence in example.sentences:
        text = " ".join(sentence.split())
        if len(text.split()) < 3 or not example.answers:
            continue
        text = text[0].upper() + text[1:]
        text = text if text[-1] in ".!?" else f"{text}."
        question = example.question.text
        typed = question.lower().rstrip(" ?") if len(_letters(question)) % 2 else question
        yield ToldAnswer(typed, example.answers[0], text)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())


def _likeness(text: str, other: str) -> float:
    return SequenceMatcher(None, text.lower().split(), other.lower().split(), autojunk=False).ratio()


# The ways to garble: each gives a sentence, or nothing where it does not apply.

_Way = Callable[[ToldAnswer, random.Random], str]


def _cut(statement: ToldAnswer) -> tuple[list[str], list[str], list[str]]:
    """The words before the answer, its own, and those behind it, without the full stop."""
    text = statement.sentence.rstrip(".!? ")
    place = text.lower().find(statement.answer.lower().strip(" .?!"))
    if place < 0:
        return text.split(), [], []
    end = place + len(statement.answer.strip(" .?!"))
    return text[:place].split(), text[place:end].split(), text[end:].split()


def _ended(words: Sequence[str]) -> str:
    text = " ".join(word for word in words if word).strip(" ,")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _outside(statement: ToldAnswer) -> list[int]:
    before, answer, after = _cut(statement)
    return [*range(len(before)), *range(len(before) + len(answer), len(before) + len(answer) + len(after))]


def _words(statement: ToldAnswer) -> list[str]:
    before, answer, after = _cut(statement)
    return before + answer + after


def _question_words(statement: ToldAnswer) -> list[str]:
    return statement.question.rstrip(" ?.").split()


def _lost_verb(statement: ToldAnswer, generator: random.Random) -> str:
    words = _words(statement)
    question_words = {word.lower() for word in _question_words(statement)}
    verbs = [
        place
        for place in _outside(statement)
        if words[place].lower() in _AUXILIARIES
        or (
            words[place].lower() not in question_words
            and words[place].lower() not in FUNCTION_WORDS
            and words[place].islower()
        )
    ]
    if not verbs:
        return ""
    place = generator.choice(verbs)
    return _ended(words[:place] + words[place + 1 :])


def _question_order(statement: ToldAnswer, generator: random.Random) -> str:
    """The question without its question words, and the answer behind it."""
    words = _question_words(statement)
    place = next((number for number, word in enumerate(words) if word.lower() in _WH), None)
    _, answer, _ = _cut(statement)
    if place is None or not answer:
        return ""
    rest = words[place + 1 :]
    if generator.random() < 0.5:
        auxiliary = next((number for number, word in enumerate(rest) if word.lower() in _AUXILIARIES), None)
        rest = rest if auxiliary is None else rest[auxiliary:]
    if rest and rest[0].lower() in _AUXILIARIES and generator.random() < 0.8:
        rest = rest[1:]
    middle = generator.choice(([], [], ["is"], ["in"], ["by"], ["because"]))
    return _ended([*words[:place], *rest, *middle, *answer])


def _moved_answer(statement: ToldAnswer, generator: random.Random) -> str:
    before, answer, after = _cut(statement)
    others = before + after
    if not answer or len(others) < 4:
        return ""
    place = generator.choice([number for number in range(len(others) + 1) if abs(number - len(before)) > 1] or [0])
    if place in (0, len(before)):
        return ""
    return _ended(others[:place] + answer + others[place:])


def _twice(statement: ToldAnswer, generator: random.Random) -> str:
    words = _words(statement)
    if len(words) < 4:
        return ""
    count = generator.randint(1, min(4, len(words) - 2))
    start = generator.randrange(len(words) - count + 1)
    place = generator.choice((start + count, len(words), generator.randrange(1, len(words) + 1)))
    return _ended(words[:place] + words[start : start + count] + words[place:])


def _exchanged(statement: ToldAnswer, generator: random.Random) -> str:
    words = _words(statement)
    if len(words) < 6:
        return ""
    a, b, c = sorted(generator.sample(range(len(words) + 1), 3))
    return _ended(words[:a] + words[b:c] + words[a:b] + words[c:])


def _base_form(statement: ToldAnswer, generator: random.Random) -> str:  # noqa: ARG001 - one way alone
    """The verb as it stands behind do, does or did in the question."""
    question_words = [word.lower().strip(",") for word in _question_words(statement)]
    if not {"does", "did"} & set(question_words):
        return ""
    words = _words(statement)
    for place in _outside(statement):
        word = words[place].lower()
        if word in question_words or word in FUNCTION_WORDS or not word.isalpha():
            continue
        same = [
            other for other in question_words if other[:3] == word[:3] and other != word and len(other) <= len(word)
        ]
        if same:
            return _ended([*words[:place], same[0], *words[place + 1 :]])
    return ""


def _left_over(statement: ToldAnswer, generator: random.Random) -> str:
    words = _words(statement)
    auxiliary = generator.choice(("do", "does", "did", "is", "was", "are", "can", "what", "which"))
    place = generator.choice([*_outside(statement), len(words)])
    if place and words[place - 1].lower() in _AUXILIARIES:
        return ""
    return _ended([*words[:place], auxiliary, *words[place:]])


def _lost_small(statement: ToldAnswer, generator: random.Random) -> str:
    words = _words(statement)
    small = [place for place in _outside(statement) if words[place].lower() in (*_SMALL, "the") and place]
    if not small:
        return ""
    place = generator.choice(small)
    return _ended(words[:place] + words[place + 1 :])


def _other_small(statement: ToldAnswer, generator: random.Random) -> str:
    words = _words(statement)
    small = [place for place in _outside(statement) if words[place].lower() in _SMALL]
    if not small:
        return ""
    place = generator.choice(small)
    other = generator.choice([word for word in _SMALL if word != words[place].lower()])
    return _ended([*words[:place], other, *words[place + 1 :]])


def _broken_off(statement: ToldAnswer, generator: random.Random) -> str:
    """The rest of a phrase is lost: it ends in a small word, or its noun is gone."""
    words = _words(statement)
    small = [
        place for place in _outside(statement) if 1 < place < len(words) - 1 and words[place].lower() in FUNCTION_WORDS
    ]
    if not small:
        return ""
    place = generator.choice(small)
    count = generator.randint(1, 3)
    return _ended(words[: place + 1] + words[place + 1 + count :])


def _answer_alone(statement: ToldAnswer, generator: random.Random) -> str:
    """The answer beside a rest that does not want it: with a small word too many, or none."""
    before, answer, after = _cut(statement)
    if not answer or not before:
        return ""
    if generator.random() < 0.5:
        return _ended([*before, generator.choice(_SMALL), *answer, *after])
    while before and before[-1].lower() in FUNCTION_WORDS:
        before = before[:-1]
    return _ended(before + answer + after) if before else ""


def _kept_noun(statement: ToldAnswer, generator: random.Random) -> str:
    """The noun that the question word asked with, left behind the answer: wasps other insect."""
    words = _question_words(statement)
    place = next((number for number, word in enumerate(words) if word.lower() in ("what", "which", "many")), None)
    before, answer, after = _cut(statement)
    if place is None or not answer:
        return ""
    noun = [word for word in words[place + 1 : place + 3] if word.lower() not in FUNCTION_WORDS][:2]
    if not noun or any(word in before + after for word in noun) or words[place].lower() == "many":
        return ""
    return _ended([*before, *answer, *noun, *after] if generator.random() < 0.7 else [*before, *noun, *answer, *after])


_WAYS: tuple[tuple[str, _Way], ...] = (
    ("lost verb", _lost_verb),
    ("question order", _question_order),
    ("question order again", _question_order),
    ("moved answer", _moved_answer),
    ("twice", _twice),
    ("exchanged", _exchanged),
    ("base form", _base_form),
    ("left over", _left_over),
    ("lost small word", _lost_small),
    ("other small word", _other_small),
    ("broken off", _broken_off),
    ("answer alone", _answer_alone),
    ("kept noun", _kept_noun),
)
