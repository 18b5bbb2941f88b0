"""Near-miss questions: a reader's own questions, changed so that their passage no longer answers them.

A question that a passage nearly answers is what a reader is fooled by. From people's questions five kinds are made: an
entity swapped for another of the paragraph or article, a number for another of the same length, a word for its antonym,
a *not* put in or taken out, and questions of neighbouring paragraphs whose answer does not occur. Some of them are
clumsy, and a few can still be answered: what is learnt from them is that words in common are not enough.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wherefrom.data.examples import Example
from wherefrom.features.tags import NER, POS, Tagged, Tagger
from wherefrom.text import FUNCTION_WORDS, normalized
from wherefrom.types import Passage

KINDS = ("entity", "number", "antonym", "negation", "neighbour")
_SWAPPED = frozenset(
    "PERSON NORP FAC ORG GPE LOC PRODUCT EVENT WORK_OF_ART LAW LANGUAGE DATE MONEY PERCENT QUANTITY".split()
)
_FROM_PARAGRAPH = 0.6  # of entities that are swapped; the others come from the article
_NEIGHBOURS = 2  # questions of other paragraphs for each paragraph
_DIGITS = re.compile(r"(?<![\w.,])\d+(?![\w]|[.,]\d)")
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A question that its passage does not answer, as far as can be told without reading it."""

    question: str
    passage: Passage
    kind: str


@dataclass(frozen=True, slots=True)
class _Paragraph:
    passage: Passage
    examples: tuple[Example, ...]
    entities: Mapping[str, frozenset[str]]  # by type
    words: frozenset[str]


def near_misses(
    examples: Iterable[Example], tagger: Tagger, antonyms: Mapping[str, Sequence[str]], seed: int
) -> Iterator[NearMiss]:
    """For every question at most one that is changed, and for every paragraph some of its neighbours' questions."""
    for article in _articles(examples):
        chance = random.Random(f"{seed} {article[0].article}")
        paragraphs = _paragraphs(article, tagger)
        of_article = _united(paragraph.entities for paragraph in paragraphs)
        every = [example for paragraph in paragraphs for example in paragraph.examples]
        tags = dict(
            zip((each.question.id for each in every), tagger.tag([e.question.text for e in every]), strict=True)
        )
        for paragraph in paragraphs:
            for example in paragraph.examples:
                changed = _changed(example, tags[example.question.id], paragraph, of_article, antonyms, chance)
                if changed is not None:
                    yield changed
            yield from _neighbours(paragraph, every)


def _articles(examples: Iterable[Example]) -> Iterator[list[Example]]:
    articles: dict[str, list[Example]] = {}
    for example in examples:
        articles.setdefault(example.article, []).append(example)
    yield from articles.values()


def _paragraphs(article: Sequence[Example], tagger: Tagger) -> list[_Paragraph]:
    by_passage: dict[str, list[Example]] = {}
    for example in article:
        by_passage.setdefault(example.passages[0].id, []).append(example)
    passages = [examples[0].passages[0] for examples in by_passage.values()]
    return [
        _Paragraph(passage, tuple(examples), _entities(passage.text, tagged), _content(passage.text))
        for passage, examples, tagged in zip(
            passages, by_passage.values(), tagger.tag([passage.text for passage in passages]), strict=True
        )
    ]


def _entities(text: str, tagged: Tagged) -> dict[str, frozenset[str]]:
    """The entities of a text by type, each as it is written there."""
    entities: dict[str, set[str]] = {}
    for kind, start, end in _runs(tagged):
        if kind in _SWAPPED:
            entities.setdefault(kind, set()).add(text[start:end])
    return {kind: frozenset(texts) for kind, texts in entities.items()}


def _runs(tagged: Tagged) -> Iterator[tuple[str, int, int]]:
    """Neighbouring tokens of one type, as (type, start, end) in characters."""
    begin = 0
    for place in range(1, len(tagged.spans) + 1):
        if place == len(tagged.spans) or tagged.ner[place] != tagged.ner[begin]:
            if NER[tagged.ner[begin]] != "O":
                yield NER[tagged.ner[begin]], tagged.spans[begin][0], tagged.spans[place - 1][1]
            begin = place


def _united(parts: Iterable[Mapping[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    union: dict[str, frozenset[str]] = {}
    for part in parts:
        for kind, texts in part.items():
            union[kind] = union.get(kind, frozenset()) | texts
    return union


# Changed questions --------------------------------------------------------------------------------------------------


def _changed(
    example: Example,
    tagged: Tagged,
    paragraph: _Paragraph,
    of_article: Mapping[str, frozenset[str]],
    antonyms: Mapping[str, Sequence[str]],
    chance: random.Random,
) -> NearMiss | None:
    """The first change that can be made, tried in an order that is drawn."""
    text = example.question.text
    pool = paragraph.entities if chance.random() < _FROM_PARAGRAPH else of_article
    order = ["entity", "antonym"]
    chance.shuffle(order)
    order.insert(0 if chance.random() < 0.5 else 2, "number")
    order.insert(0 if chance.random() < 0.12 else 3, "negation")
    for kind in order:
        if kind == "entity":
            changed = _other_entity(text, tagged, pool, example.answers, chance)
        elif kind == "number":
            changed = _other_number(text, paragraph.passage.text, example.answers, chance)
        elif kind == "antonym":
            changed = _antonym(text, tagged, antonyms, chance)
        else:
            changed = _negated(text, tagged)
        if changed is not None and normalized(changed) != normalized(text):
            return NearMiss(changed, paragraph.passage, kind)
    return None


def _other_entity(
    text: str, tagged: Tagged, pool: Mapping[str, frozenset[str]], answers: Sequence[str], chance: random.Random
) -> str | None:
    """The question with one entity in place of another of its type that shares no word with it."""
    gold = {word for answer in answers for word in _content(answer)}
    runs = [run for run in _runs(tagged) if run[0] in pool]
    chance.shuffle(runs)
    for kind, start, end in runs:
        own = _content(text)
        others = sorted(other for other in pool[kind] if not _content(other) & (own | gold) and _content(other))
        if others:
            return text[:start] + chance.choice(others) + text[end:]
    return None


def _other_number(text: str, passage: str, answers: Sequence[str], chance: random.Random) -> str | None:
    """The question with a number in place of another of the passage that has as many digits."""
    for number in _DIGITS.finditer(text):
        taken = {number[0], *(digits for answer in answers for digits in _DIGITS.findall(answer))}
        others = sorted({each for each in _DIGITS.findall(passage) if len(each) == len(number[0])} - taken)
        if others:
            return f"{text[: number.start()]}{chance.choice(others)}{text[number.end() :]}"
    return None


def _antonym(text: str, tagged: Tagged, antonyms: Mapping[str, Sequence[str]], chance: random.Random) -> str | None:
    """The question with a word in place of its opposite."""
    places = [
        (start, end)
        for (start, end), pos, ner in zip(tagged.spans, tagged.pos, tagged.ner, strict=True)
        if POS[pos] in ("ADJ", "ADV", "VERB", "NOUN") and NER[ner] == "O" and text[start:end].lower() in antonyms
    ]
    if not places:
        return None
    start, end = chance.choice(places)
    other = chance.choice(list(antonyms[text[start:end].lower()]))
    return text[:start] + (other.capitalize() if text[start].isupper() else other) + text[end:]


def _negated(text: str, tagged: Tagged) -> str | None:
    """The question with *not* before its verb, or without the one it has."""
    without = re.sub(r"\s+not\b|n't\b", "", text, count=1)
    if without != text:
        return without
    auxiliary = False
    for (start, _), pos in zip(tagged.spans, tagged.pos, strict=True):
        if POS[pos] == "AUX":
            auxiliary = True
        elif POS[pos] == "VERB" and auxiliary:
            return f"{text[:start]}not {text[start:]}"
    return None


# Neighbours' questions ------------------------------------------------------------------------------------------------


def _neighbours(paragraph: _Paragraph, every: Sequence[Example]) -> Iterator[NearMiss]:
    """The questions of the article's other paragraphs that share most words with this one, which has no answer."""
    text = normalized(paragraph.passage.text)
    others = [
        (len(shared) / len(words), example.question.text)
        for example in every
        if example.passages[0].id != paragraph.passage.id
        and (words := _content(example.question.text))
        and len(shared := words & paragraph.words) >= 2
        and not any(normalized(answer) in text for answer in example.answers)
    ]
    best = sorted(others, key=lambda pair: (-pair[0], pair[1]))[:_NEIGHBOURS]
    for _, question in best:
        yield NearMiss(question, paragraph.passage, "neighbour")


def _content(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, in small letters."""
    return frozenset(word for word in re.findall(r"\w+", text.lower()) if word not in FUNCTION_WORDS)


# WordNet --------------------------------------------------------------------------------------------------------------


def wordnet_antonyms(folder: Path) -> dict[str, tuple[str, ...]]:
    """Single words with their antonyms, from WordNet's data files (data.adj, data.adv, data.noun, data.verb)."""
    antonyms: dict[str, set[str]] = {}
    for part in ("adj", "adv", "noun", "verb"):
        synsets = dict(_synsets(folder / f"data.{part}"))
        for words, opposites in synsets.values():
            for place, other_synset, other_place in opposites:
                if other_synset in synsets:
                    word, other = words[place], synsets[other_synset][0][other_place]
                    if _WORD.fullmatch(word) and _WORD.fullmatch(other):
                        antonyms.setdefault(word.lower(), set()).add(other.lower())
    return {word: tuple(sorted(others)) for word, others in antonyms.items() if word not in FUNCTION_WORDS}


def _synsets(file: Path) -> Iterator[tuple[str, tuple[list[str], list[tuple[int, str, int]]]]]:
    """By its number the words of a synset, and which word is the opposite of which word of which other synset."""
    for line in file.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(" "):  # the licence
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        words = [fields[4 + 2 * place].partition("(")[0] for place in range(count)]
        pointers = fields[5 + 2 * count :]
        opposites = [
            (int(places[:2], 16) - 1, number, int(places[2:], 16) - 1)
            for symbol, number, _, places in zip(*[iter(pointers)] * 4, strict=False)
            if symbol == "!" and places != "0000"
        ]
        yield fields[0], (words, opposites)
