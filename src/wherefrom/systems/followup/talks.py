"""Follow-ups made of real whole questions, so that it is known what they mean.

Two questions about one paragraph that name the same thing are a turn and what follows it: in the second the name
becomes "it", "her", "that river", "there", or is left out. A fragment ("and in Germany?") is made of a phrase of
another question of the article, and means the turn's question with that phrase in the place of its like. Whole
questions, about the same or anything else, mean themselves.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wherefrom.data import narrativeqa, squad
from wherefrom.data.examples import Example
from wherefrom.features.gaps import GENERIC, gaps
from wherefrom.features.phrases import Phrase, phrases
from wherefrom.features.subjects import Subject, background, bare_name
from wherefrom.features.tags import Tagged, Tagger
from wherefrom.types import Turn

_LEADS = ("and ", "And ", "so ", "but ", "ok, ", "and ", "also ")
_ABOUT = ("and ", "And ", "what about ", "What about ", "how about ", "", "and what about ")
_BARE = (
    "why",
    "when",
    "where",
    "how",
    "since when",
    "by whom",
    "who",
    "why not",
    "in which year",
    "how long",
    "how come",
)
_MEASURES = ("old", "long", "tall", "high", "deep", "large", "big", "wide", "heavy", "far")
_ADDED = (
    "in winter",
    "in miles",
    "on weekends",
    "at night",
    "in 1990",
    "after that",
    "in total",
    "per year",
    "before 1900",
)
# Asked of what the last question is about as a whole: "Neptune's largest moon", not Neptune.
_PLAIN = (
    "what is it called",
    "where is it",
    "when was it built",
    "how big is it",
    "who made it",
    "what is it made of",
    "when was it found",
    "what does it look like",
    "why is it important",
    "how does it work",
)
_HE, _SHE = re.compile(r"\b(?:he|him|his)\b", re.IGNORECASE), re.compile(r"\b(?:she|her|hers)\b", re.IGNORECASE)
_SHORT = 6  # words of a fragment
_TOGETHER = 150  # texts whose questions are mixed


@dataclass(frozen=True, slots=True)
class Talk:
    """A typed question behind its turns, and the whole one that it means."""

    turns: tuple[Turn, ...]
    typed: str
    whole: str
    way: str  # how it was made


@dataclass(frozen=True, slots=True)
class _Text:
    """Questions about one text."""

    article: str
    title: str
    text: str
    questions: tuple[tuple[str, str], ...]  # with their answers

    def parts(self) -> list[str]:
        return [self.title, *(part for question in self.questions for part in question)]


def talks(data: Path, split: str, count: int, tagger: Tagger, seed: int) -> list[Talk]:
    """`count` made conversations, over all texts of the split."""
    generator = random.Random(f"{seed} {split}")
    texts = [*_squad(data, split), *_stories(data, split)]
    made: list[Talk] = []
    while len(made) < count:
        some = generator.sample(texts, min(_TOGETHER, len(texts)))
        tagger.tag([part for text in some for part in text.parts()])  # many at a time, where the tagger remembers
        for text in some:
            made += _of_text(text, some, tagger, generator)
    return made[:count]


def whole_questions(data: Path, count: int, seed: int) -> list[Talk]:
    """Questions of SQuAD's validation articles, as they are, each behind a turn about another article."""
    generator = random.Random(f"whole {seed}")
    texts = list(_squad(data, "valid"))
    made: list[Talk] = []
    while len(made) < count:
        one, other = generator.sample(texts, 2)
        if one.article != other.article:
            question = generator.choice(one.questions)[0]
            made.append(
                Talk((_turn(other, generator.choice(other.questions), generator),), question, question, "whole")
            )
    return made


def _squad(data: Path, split: str) -> Iterator[_Text]:
    by_passage: dict[str, list[Example]] = {}
    for example in squad.load(data / "squad", split):
        by_passage.setdefault(example.passages[0].id, []).append(example)
    for examples in by_passage.values():
        passage = examples[0].passages[0]
        questions = tuple((each.question.text.strip(), each.answers[0]) for each in examples if each.answers)
        if len(questions) > 1:
            title = passage.title.replace("_", " ")
            yield _Text(examples[0].article or title, title, passage.text, questions)


def _stories(data: Path, split: str) -> Iterator[_Text]:
    by_story: dict[str, list[Example]] = {}
    for example in narrativeqa.load(data / "narrativeqa", split, detokenize=True):
        by_story.setdefault(example.article or example.passages[0].id, []).append(example)
    for story, examples in by_story.items():
        questions = tuple((_tidy(each.question.text), each.answers[0]) for each in examples if each.answers)
        if len(questions) > 1:
            yield _Text(story, "", " ".join(passage.text for passage in examples[0].passages), questions)


def _tidy(question: str) -> str:
    return re.sub(r"\s*\?$", "?", question.strip())


def _turn(text: _Text, question: tuple[str, str], generator: random.Random) -> Turn:
    answer = "" if generator.random() < 0.1 else question[1]
    return Turn(question[0], answer, text.title if answer and generator.random() < 0.8 else "")


def _of_text(text: _Text, texts: Sequence[_Text], tagger: Tagger, generator: random.Random) -> list[Talk]:
    """A few conversations about one text."""
    questions = list(text.questions)
    generator.shuffle(questions)
    *before, last = [questions[0], *questions[2 : generator.choice((2, 2, 3, 4))]]
    turns = tuple(_turn(text, each, generator) for each in (*before, last))
    following = questions[1][0]
    tagged = tagger.tag([following])[0]
    made = phrases(following, tagged)
    known = background(turns, tagger)
    drawn: list[Talk | None] = [
        _pronoun(following, made, known.subjects, turns, text, generator),
        _pronoun(following, made, known.subjects, turns, text, generator),
        _without_of(following, known.subjects, turns, generator),
        _fragment(turns, known.question_phrases, text, texts, tagger, generator),
        _whole(following, tagged, made, turns, generator),
    ]
    for _ in range(generator.choice((0, 1, 1, 2))):
        other = generator.choice(texts)
        question = generator.choice(other.questions)[0]
        other_tagged = tagger.tag([question])[0]
        drawn.append(_whole(question, other_tagged, phrases(question, other_tagged), turns, generator))
    if generator.random() < 0.12:
        drawn.append(_about_the_whole(turns, known.subjects, generator))
    if generator.random() < 0.12:
        drawn.append(_bare(turns, generator))
    if generator.random() < 0.1:
        drawn.append(_measure(turns, known.subjects, generator))
    drawn = [talk for talk in drawn if talk is None or not _misleading(talk, tagger, generator)]
    kept: dict[str, Talk] = {talk.typed: talk for talk in drawn if talk is not None}
    return list(kept.values())


def _pronoun(
    question: str,
    made: Sequence[Phrase],
    subjects: Sequence[Subject],
    turns: tuple[Turn, ...],
    text: _Text,
    generator: random.Random,
) -> Talk | None:
    """The name of a thing that was spoken of, replaced by what stands for it."""
    names = {bare_name(subject.text): subject for subject in subjects}
    shared = [phrase for phrase in made if bare_name(phrase.text) in names and not phrase.asked_for]
    if not shared:
        return None
    weights = [_salience(names[bare_name(phrase.text)]) for phrase in shared]
    phrase = generator.choices(shared, weights)[0]
    if len(re.findall(re.escape(phrase.text), question)) != 1:
        return None
    before, after = question[: phrase.start], question[phrase.end :]
    owning = re.match(r"['’]s?(?=\s)", after)
    word = _stands_for(phrase, text.text, bool(owning), before, generator)
    if word in ("there",):
        before = re.sub(r"\b(?:in|at|on)\s+$", "", before, flags=re.IGNORECASE)
    if owning:
        after = after[owning.end() :]
    typed = f"{before}{word}{after}"
    rest = [each for each in shared if each.start > phrase.end and not each.nested and each.kind != phrase.kind]
    if rest and generator.random() < 0.3 and word in ("it", "he", "she", "they"):
        other = generator.choice(rest)
        if question.count(other.text) == 1 and not re.match(r"['’]", question[other.end :]):
            typed = typed.replace(other.text, "him" if other.kind == "person" else "it")
    return Talk(turns, _typed(typed, generator), question, f"stands for: {word.split()[0]}")


def _misleading(talk: Talk, tagger: Tagger, generator: random.Random) -> bool:
    """Nobody says "his" of another man behind the name of one: most of what is made so is dropped."""
    if not talk.way.startswith("stands for"):
        return False
    holes = gaps(talk.typed, tagged := tagger.tag([talk.typed])[0], phrases(talk.typed, tagged))
    return any(gap.named and (gap.owning or gap.clause or not gap.opens) for gap in holes) and generator.random() < 0.9


def _salience(subject: Subject) -> float:
    """How likely people are to say "it" of a thing: of a name, of what is spoken of again, of what comes first."""
    weight = 3.0 if subject.phrase.named else 1.0
    weight *= 2.0 if subject.named_again else 1.0
    weight *= 1.5 if subject.place == 0 and subject.source == "question" else 1.0
    return weight * (0.3 if subject.phrase.nested else 1.0) * (0.5 if subject.back else 1.0)


def _stands_for(phrase: Phrase, text: str, owning: bool, before: str, generator: random.Random) -> str:
    """it, he, her, their, there, that river, the city."""
    generic = next((word for word in phrase.text.lower().split() if word in GENERIC), "")
    noun = generic or (phrase.head if not phrase.named else "")
    if noun and generator.random() < 0.3 and not owning:
        return f"{generator.choice(('the', 'that', 'this', 'the'))} {noun}"
    if phrase.kind == "place" and re.search(r"\b(?:in|at|on)\s+$", before, re.IGNORECASE) and generator.random() < 0.6:
        return "there"
    if phrase.plural:
        return "their" if owning else ("them" if _is_object(before) else "they")
    if phrase.kind == "person":
        he, she = len(_HE.findall(text)), len(_SHE.findall(text))
        male = he > she if he != she else generator.random() < 0.5
        if owning:
            return "his" if male else "her"
        if _is_object(before):
            return "him" if male else "her"
        return "he" if male else "she"
    return "its" if owning else "it"


def _is_object(before: str) -> bool:
    """Whether a pronoun there is an object: behind a verb or preposition, at the end or before a preposition."""
    word = (before.split() or [""])[-1].lower()
    subject = word in {
        "did",
        "does",
        "do",
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "can",
        "could",
        "would",
        "will",
    }
    return (
        not subject and bool(before.strip()) and word not in ("that", "when", "where", "because", "if", "after", "what")
    )


def _without_of(
    question: str, subjects: Sequence[Subject], turns: tuple[Turn, ...], generator: random.Random
) -> Talk | None:
    """ "What is the capital of Iceland?" without the last two words."""
    names = {bare_name(subject.text) for subject in subjects}
    match = re.search(r"^(.*\bthe (?:[\w-]+ ){0,2}[\w-]+) of ([^?]+?)\s*\?$", question)
    if match is None or bare_name(match[2]) not in names or generator.random() < 0.1:
        return None
    return Talk(turns, _typed(match[1] + "?", generator), question, "without of")


def _fragment(
    turns: tuple[Turn, ...],
    known: Sequence[Phrase],
    text: _Text,
    texts: Sequence[_Text],
    tagger: Tagger,
    generator: random.Random,
) -> Talk | None:
    """A phrase of another question in the place of its like in the last one; or something added."""
    question = turns[-1].question
    if generator.random() < 0.08:
        added = generator.choice(_ADDED)
        if not any(phrase.preposition == added.split()[0] for phrase in known):
            whole = f"{question.rstrip('?').strip()} {added}?"
            return Talk(turns, _typed(generator.choice(_ABOUT[:2]) + added + "?", generator), whole, "added")
    other = text if generator.random() < 0.6 else generator.choice(texts)
    others = [each[0] for each in generator.sample(other.questions, min(4, len(other.questions)))]
    read = [phrases(each, tagged) for each, tagged in zip(others, tagger.tag(others), strict=True)]
    new = [each for made in read for each in made if not each.asked_for and not each.nested]
    pairs = [
        (phrase, by)
        for phrase in known
        for by in new
        if _alike(phrase, by) and bare_name(by.text) not in question.lower() and len(by.text.split()) <= _SHORT
    ]
    if not pairs:
        return None
    phrase, by = generator.choice(pairs)
    whole = question[: phrase.start] + by.text + question[phrase.end :]
    joined = phrase.preposition and generator.random() < 0.7 and not phrase.nested
    fragment = f"{phrase.preposition} {by.text}" if joined else by.text
    return Talk(turns, _typed(generator.choice(_ABOUT) + fragment + "?", generator), whole, "fragment")


def _alike(phrase: Phrase, by: Phrase) -> bool:
    if phrase.asked_for or (phrase.kind, phrase.named, phrase.plural) != (by.kind, by.named, by.plural):
        return False
    articles = [text.lower().split()[0] in ("the", "a", "an") for text in (phrase.text, by.text)]
    return articles[0] == articles[1] or phrase.named


def _whole(
    question: str, tagged: Tagged, made: Sequence[Phrase], turns: tuple[Turn, ...], generator: random.Random
) -> Talk | None:
    """A question that means itself; one in which something is left to guess is none."""
    if any(
        gap.kind in ("he", "she", "it", "they", "this", "noun") and not gap.bound
        for gap in gaps(question, tagged, made)
    ):
        return None
    lead = generator.choice(_LEADS) if generator.random() < 0.15 else ""
    typed = lead + (question[:1].lower() + question[1:] if lead else question)
    if generator.random() < 0.2:
        typed = typed.lower()
    if generator.random() < 0.15:
        typed = typed.rstrip("?").strip()
    return Talk(turns, typed, typed, "whole")


def _about_the_whole(turns: tuple[Turn, ...], subjects: Sequence[Subject], generator: random.Random) -> Talk | None:
    """A plain question about a thing with an owner or an `of`, which is meant as a whole."""
    last = [subject for subject in subjects if subject.source == "question" and subject.back == 0]
    parts = [subject for subject in last if subject.phrase.nested or subject.phrase.preposition == "of"]
    longer = [subject for subject in last for part in parts if subject is not part and part.text in subject.text]
    if not longer or longer[0].phrase.kind == "person" or longer[0].phrase.plural:
        return None
    question = generator.choice(_PLAIN)
    return Talk(
        turns, _typed(question + "?", generator), re.sub(r"\bit\b", longer[0].text, question) + "?", "of the whole"
    )


def _bare(turns: tuple[Turn, ...], generator: random.Random) -> Talk:
    """Only a question word; it means the last question with it, in whatever form that has."""
    return Talk(turns, _typed(generator.choice(_BARE) + "?", generator), "", "bare")


def _measure(turns: tuple[Turn, ...], subjects: Sequence[Subject], generator: random.Random) -> Talk | None:
    """ "how old?" of what the last question is about: what is named elsewhere too, else its first name."""
    last = [
        subject for subject in subjects if subject.source == "question" and subject.back == 0 and subject.phrase.named
    ]
    chosen = next((subject for subject in last if subject.named_again), last[0] if last else None)
    if chosen is None:
        return None
    measure = generator.choice(_MEASURES)
    be = "are" if chosen.phrase.plural else "is"
    return Talk(turns, _typed(f"and how {measure}?", generator), f"How {measure} {be} {chosen.text}?", "measure")


def _typed(text: str, generator: random.Random) -> str:
    """As people type: some in small letters, some without a question mark, some with a word before."""
    text = text[:1].lower() + text[1:] if generator.random() < 0.5 else text[:1].upper() + text[1:]
    if not text.lower().startswith(("and ", "what about", "how about")) and generator.random() < 0.3:
        text = generator.choice(_LEADS) + text[:1].lower() + text[1:]
    if generator.random() < 0.15:
        text = text.lower()
    return text.rstrip("?").strip() if generator.random() < 0.25 else text


def is_meant(text: str, talk: Talk) -> bool:
    """Whether a reading says what the talk means, articles and capitals aside."""
    return _plain(text) == _plain(talk.whole)


def _plain(text: str) -> str:
    lead = re.sub(r"^(?:and|so|but|ok|also),?\s+", "", text.lower().strip())
    return " ".join(word for word in re.findall(r"\w+|[^\w\s?.!]", lead) if word not in ("the", "a", "an"))


def counted(made: Sequence[Talk]) -> Mapping[str, int]:
    """How many were made in which way."""
    ways: dict[str, int] = {}
    for talk in made:
        ways[talk.way] = ways.get(talk.way, 0) + 1
    return dict(sorted(ways.items()))
