"""Small libraries of several kinds of documents, and questions that they answer, nearly answer or do not answer.

A judge that knows ten passages of Wikipedia alone is wrong elsewhere. Each kind comes from a dataset that the reader
does not learn from, or from the part that it holds out; some libraries are of one document, some of hundreds.

    encyclopedia  squad, valid: articles; people's own unanswerable questions of task1640
    policies      policyqa, valid: privacy policies, each a library; not by default, since its golds are often one word
                  (`information`) of many that would do
    reviews       subjqa, held out: four reviews a library, half of the questions without an answer
    forum         doqa: answers of a forum on cooking and films; what people asked next and got no answer to
    stories       narrativeqa, valid: summaries of stories; answers in other words
    web           msmarco's sample: passages of web pages, questions as typed into a search engine
    search        questions of NQ-open over long Wikipedia articles
    manuals       a file of questions over manuals of software, where one is given
    yes-no        those of the same file that ask for yes or no; right is the word that the network decides on

Of every library that is cut from a set with golds, some paragraphs are left out: questions on these are near misses.
Others are asked that belong to another library altogether.
"""

from __future__ import annotations

import random
import re
import zlib
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import msgspec

from wherefrom.config import IngestSettings
from wherefrom.data import msmarco, narrativeqa, squad
from wherefrom.data.examples import Example
from wherefrom.data.instructions import Instruction
from wherefrom.data.opening import csv_rows, json_records, named_files, tsv_rows
from wherefrom.errors import SettingsError
from wherefrom.evaluate.ten_passages import wikipedia_files
from wherefrom.features.polarity import asks_yes_no
from wherefrom.ingest.formats import Record, read
from wherefrom.types import Document

MANUALS = "manuals"
YES_NO = "yes-no"  # the kind of questions over manuals that ask for yes or no
LEFT_OUT = 0.2  # of the questions: their paragraphs are not in the library
STRANGE = 0.12  # of the questions: about something else altogether
_HELD_OUT = 0.1  # of SubjQA's reviews and DoQA's texts: as much as the reader's material holds out, by the same rule


@dataclass(frozen=True, slots=True)
class LibraryQuestion:
    """A question for a library; no answers where it has none."""

    id: str
    text: str
    answers: tuple[str, ...]
    article: str  # what it is about: questions of one article are fitted on or measured with, not both


@dataclass(frozen=True, slots=True)
class SmallLibrary:
    """Documents, and what is asked of them."""

    kind: str
    name: str
    documents: tuple[Document, ...]
    questions: tuple[LibraryQuestion, ...]


@dataclass(slots=True)
class Paragraph:
    """A piece of a document that is left out or kept as a whole, and the questions on it."""

    document: str
    text: str
    title: str = ""
    answered: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)


def libraries(kinds: Sequence[str], data: Path, count: int, seed: int) -> list[SmallLibrary]:
    """All libraries of these kinds, about `count` questions each; equal arguments, equal libraries."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise SettingsError(f"kinds knows no '{unknown[0]}'; it knows {', '.join(KINDS)}")
    return [library for kind in kinds for library in KINDS[kind](data, count, random.Random(f"{seed} {kind}"))]


def dataset_files(kinds: str, data: Path) -> list[Path]:
    """The files that the libraries of these kinds are made of."""
    files: list[Path] = []
    for kind in (each.strip() for each in kinds.split(",")):
        files += [file for folder, name in _FILES.get(kind, ()) for file in named_files(data / folder, (name,))]
    return list(dict.fromkeys(files))


_FILES = {
    "encyclopedia": (("squad", "valid-v1.1.json"), ("instructions", "task1640_*.jsonl")),
    "policies": (("policyqa", "valid.json"), ("squad", "valid-v1.1.json")),
    "reviews": (("subjqa", "*.train.csv"),),
    "forum": (("instructions", "task1439_*.jsonl"), ("instructions", "task1442_*.jsonl")),
    "stories": (("narrativeqa", "qaps.csv"), ("narrativeqa", "summaries.csv")),
    "web": (("msmarco_sample", "ms_marco_sample.json"),),
    "search": (("open_questions", "dpr_nq_dev.tsv"),),
}


# Cutting sets into libraries.


def cut(
    kind: str,
    paragraphs: Sequence[Paragraph],
    sizes: Sequence[int],
    count: int,
    draw: random.Random,
    strangers: Sequence[Paragraph] = (),
) -> Iterator[SmallLibrary]:
    """Libraries of so many documents each (0: all that are left), with about `count` questions in all.

    Every library leaves paragraphs out, and is asked some questions of documents that it does not have; or those of
    `strangers`, which also says that every document of this kind answers nearly the same questions.
    """
    documents = list(dict.fromkeys(paragraph.document for paragraph in paragraphs))
    draw.shuffle(documents)
    begin = 0
    for number, size in enumerate(sizes, start=1):
        chosen = set(documents[begin:] if size == 0 else documents[begin : begin + size])
        begin += size or len(documents)
        if not chosen:
            return
        own = [paragraph for paragraph in paragraphs if paragraph.document in chosen]
        others = [paragraph for paragraph in paragraphs if paragraph.document not in chosen]
        size = max(count // len(sizes), 1)
        if strangers:
            yield _library(kind, str(number), own, strangers, size, draw, left_out=0.0)
        else:
            yield _library(kind, str(number), own, others, size, draw)


def _library(
    kind: str,
    name: str,
    own: Sequence[Paragraph],
    others: Sequence[Paragraph],
    count: int,
    draw: random.Random,
    left_out: float = LEFT_OUT,
) -> SmallLibrary:
    strange = round(STRANGE * count) if others else 0
    unanswered = [(paragraph, text) for paragraph in own for text in paragraph.unanswered]
    missed = draw.sample(unanswered, min(len(unanswered), round(LEFT_OUT * count)))
    gone, kept = _left_out(own, round(left_out * count) - len(missed) // 2, draw)
    answered = [(paragraph, *each) for paragraph in kept for each in paragraph.answered]
    rest = count - strange - len(missed) - len(gone)
    chosen = [
        *draw.sample(answered, min(len(answered), max(rest, 0))),
        *gone,
        *((paragraph, text, ()) for paragraph, text in missed),
        *((paragraph, text, ()) for paragraph, text, _ in _some(others, strange, draw)),
    ]
    texts: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for paragraph in kept:
        texts.setdefault(paragraph.document, []).append(paragraph.text)
        titles[paragraph.document] = paragraph.title
    return SmallLibrary(
        kind,
        f"{kind}-{name}",
        tuple(Document(id, "\n\n".join(parts), titles[id]) for id, parts in texts.items()),
        tuple(
            LibraryQuestion(f"{kind}-{name}-{number}", text, tuple(answers), f"{kind} {paragraph.document}")
            for number, (paragraph, text, answers) in enumerate(chosen)
        ),
    )


def _left_out(
    own: Sequence[Paragraph], count: int, draw: random.Random
) -> tuple[list[tuple[Paragraph, str, tuple[str, ...]]], list[Paragraph]]:
    """Questions whose paragraphs are not in the library, and the paragraphs that are: at most a third is left out."""
    with_questions = [paragraph for paragraph in own if paragraph.answered]
    gone = draw.sample(with_questions, max(min(count, len(own) // 3, len(with_questions)), 0))
    asked_of_them = [(paragraph, *draw.choice(paragraph.answered)) for paragraph in gone]
    missing = {id(paragraph) for paragraph in gone}
    return asked_of_them, [paragraph for paragraph in own if id(paragraph) not in missing]


def _some(
    paragraphs: Sequence[Paragraph], count: int, draw: random.Random
) -> list[tuple[Paragraph, str, tuple[str, ...]]]:
    able = [paragraph for paragraph in paragraphs if paragraph.answered]
    return [(paragraph, *draw.choice(paragraph.answered)) for paragraph in draw.sample(able, min(count, len(able)))]


# The kinds.


def _encyclopedia(data: Path, count: int, draw: random.Random) -> Iterator[SmallLibrary]:
    paragraphs = _squad_paragraphs(squad.load(data / "squad", "valid"))
    known = {paragraph.text: paragraph for paragraph in paragraphs}
    (file,) = named_files(data / "instructions", ("task1640_*.jsonl",))
    for _, record in json_records(file, Instruction):
        text, _, question = record.input.rpartition(" Question: ")
        if record.target[0] == "False" and text in known:
            known[text].unanswered.append(question.strip())
    yield from cut("encyclopedia", paragraphs, (1, 1, 1, 5, 0), count, draw)


def _policies(data: Path, count: int, draw: random.Random) -> Iterator[SmallLibrary]:
    (file,) = named_files(data / "policyqa", ("valid.json",))
    paragraphs = _squad_paragraphs(squad.load(file, "valid"))
    strangers = _squad_paragraphs(squad.load(data / "squad", "valid"))
    yield from cut("policies", paragraphs, (1,) * 6, count, draw, strangers)


def _squad_paragraphs(examples: Iterable[Example]) -> list[Paragraph]:
    paragraphs: dict[str, Paragraph] = {}
    for example in examples:
        (passage,) = example.passages
        paragraph = paragraphs.setdefault(passage.id, Paragraph(example.article, passage.text, passage.title))
        if example.answers:
            paragraph.answered.append((example.question.text, example.answers))
    return list(paragraphs.values())


_SUBJQA = ("domain", "question", "review_id", "review", "human_ans_spans")
_NONE = "ANSWERNOTFOUND"


def _reviews(data: Path, count: int, draw: random.Random) -> Iterator[SmallLibrary]:
    """One review of each domain a library: `How is the service?` would be answered by every other restaurant's."""
    domains: dict[str, dict[str, Paragraph]] = {}
    answers: dict[tuple[str, str], list[str]] = {}
    for file in named_files(data / "subjqa", ("*.train.csv",)):
        for _, row in csv_rows(file, _SUBJQA):
            id = f"subjqa-{row['review_id']}"
            if not _is_held_out(id):
                continue
            review = row["review"].removesuffix(_NONE).rstrip()
            domains.setdefault(row["domain"], {}).setdefault(id, Paragraph(id, review))
            given = answers.setdefault((id, row["question"]), [])
            if row["human_ans_spans"] != _NONE:
                given.append(row["human_ans_spans"])
    for (id, question), given in answers.items():
        paragraph = next(reviews[id] for reviews in domains.values() if id in reviews)
        if given:
            paragraph.answered.append((question, tuple(given)))
        else:
            paragraph.unanswered.append(question)
    columns = [draw.sample(list(reviews.values()), len(reviews)) for _, reviews in sorted(domains.items())]
    taken = 0
    for number, row_of in enumerate(zip(*columns, strict=False), start=1):
        if taken >= count:
            return
        questions = [
            LibraryQuestion(f"reviews-{number}-{place}", text, given, f"reviews {number}")
            for place, (text, given) in enumerate(
                each
                for paragraph in row_of
                for each in (*paragraph.answered[:2], *((text, ()) for text in paragraph.unanswered[:1]))
            )
        ]
        taken += len(questions)
        documents = tuple(Document(paragraph.document, paragraph.text) for paragraph in row_of)
        yield SmallLibrary("reviews", f"reviews-{number}", documents, tuple(questions))


_DOQA = re.compile(r"CONTEXT: (?P<text>.*?) +<sep>(?P<before>.*)<sep> FOLLOWUP_Q: (?P<question>.*)", re.S)
_TURN = re.compile(r"Q: (?P<question>.*?) A: (?P<answer>.*?)(?= +Q: |\s*$)", re.S)
_LEANING = re.compile(r"\b(?:it|they|them|that|this|those|these|else|other|more|any|he|she|him|her)\b", re.I)


def _forum(data: Path, count: int, draw: random.Random) -> Iterator[SmallLibrary]:
    """The first question of a conversation stands alone; of what was asked next, what does not lean on the rest."""
    for task, name in (("task1439_*", "doqa-cooking"), ("task1442_*", "doqa-movies")):
        (file,) = named_files(data / "instructions", (f"{task}.jsonl",))
        paragraphs: dict[str, Paragraph] = {}
        for _, record in json_records(file, Instruction):
            form = _DOQA.fullmatch(record.input.strip())
            if form is None or not form["text"].strip():
                continue
            text = " ".join(form["text"].split())
            id = paragraphs[text].document if text in paragraphs else f"{name}-{len(paragraphs) + 1}"
            paragraph = paragraphs.setdefault(text, Paragraph(id, text))
            first = _TURN.search(form["before"])
            if first is not None and not paragraph.answered and first["answer"].strip() in text:
                paragraph.answered.append((first["question"].strip(), (first["answer"].strip(),)))
            question = form["question"].strip()
            if record.target[0] == "No" and _is_held_out(id) and not _LEANING.search(question):
                paragraph.unanswered.append(question)
        for number, library in enumerate(cut("forum", list(paragraphs.values()), (30, 0), count // 2, draw), start=1):
            yield _named(library, f"{name}-{number}")


def _stories(data: Path, count: int, draw: random.Random) -> Iterator[SmallLibrary]:
    paragraphs: dict[str, Paragraph] = {}
    for example in narrativeqa.load(data / "narrativeqa", "valid", detokenize=True):
        paragraph = paragraphs.setdefault(example.article, Paragraph(example.article, example.passages[0].text))
        paragraph.answered.append((example.question.text, example.answers))
    yield from cut("stories", list(paragraphs.values()), (1, 1, 1, 1, 8, 0), count, draw)


def _web(data: Path, count: int, draw: random.Random) -> Iterator[SmallLibrary]:
    paragraphs = []
    for example in msmarco.load(data / "msmarco_sample", "sample"):
        text = "\n\n".join(passage.text for passage in example.passages)
        answered = [(example.question.text, example.answers)] if example.answers else []
        unanswered = [] if example.answers else [example.question.text]
        paragraphs.append(Paragraph(example.question.id, text, "", answered, unanswered))
    yield from cut("web", paragraphs, (30, 0), count, draw)


_ARTICLES = 1000  # long ones: 25,000 passages
_ABSENT = 0.4  # of the questions, about


def _search(data: Path, count: int, draw: random.Random) -> Iterator[SmallLibrary]:
    """Whether a question has an answer there is known well enough where it names an article that holds the answer.

    The others are nearly all absent; where one is not, the answer is known and counts as right.
    """
    documents: list[Document] = []
    for record in islice(read(wikipedia_files(data)[0], IngestSettings()), _ARTICLES):
        if isinstance(record, Record):
            documents.append(Document(record.id or str(len(documents)), record.text, record.title))
    named: dict[str, list[tuple[frozenset[str], str]]] = {}
    for document in documents:
        title = document.title.partition("(")[0].casefold().split()
        if title:
            named.setdefault(title[0], []).append((frozenset(title), document.text))
    (file,) = named_files(data / "open_questions", ("dpr_nq_dev.tsv",))
    there: list[LibraryQuestion] = []
    elsewhere: list[LibraryQuestion] = []
    for place, row in tsv_rows(file, ("question", "answers"), header=False):
        written = literal_eval(row["answers"])  # a list as Python writes it
        answers = tuple(map(str, written)) if isinstance(written, list) else (str(written),)
        question = LibraryQuestion(f"search-{place.number}", row["question"], answers, f"search {place.number}")
        named_words = frozenset(row["question"].casefold().split())
        texts = [text for word in named_words for title, text in named.get(word, ()) if title <= named_words]
        (there if any(answer in text for text in texts for answer in answers) else elsewhere).append(question)
    absent = draw.sample(elsewhere, min(round(_ABSENT * count), len(elsewhere)))
    chosen = draw.sample(there, min(count - len(absent), len(there)))
    yield SmallLibrary("search", "search", tuple(documents), (*chosen, *absent))


_MANUALS_HELD_OUT = 5  # every so many documents


def _headed(title: str, section: str, text: str) -> str:
    return f"{section}\n\n{text}" if section and section != title else text


class _ManualQuestion(msgspec.Struct):
    """A line of the file of questions over manuals."""

    collection: str
    document: str
    passage: str
    question: str
    answer: str | None
    title: str = ""
    section: str = ""
    kind: str = ""
    near_miss: bool = False
    others: list[tuple[str, str, str]] = []  # passages that a search also finds: title, section, text


def manual_libraries(file: Path, count: int, seed: int) -> list[SmallLibrary]:
    """The libraries of a file of questions over manuals."""
    made = list(_manuals(file, count, random.Random(f"{seed} manuals")))
    made += _manuals(file, count, random.Random(f"{seed} yes-no"), YES_NO)
    return [library for library in made if any(question.answers for question in library.questions)]


def _manuals(file: Path, count: int, draw: random.Random, kind: str = MANUALS) -> Iterator[SmallLibrary]:
    """A library a collection; passages come under their section's heading, as in the documents they are from.

    Only a fifth of the documents is asked about: the reader's material holds those out, by the same rule. Questions for
    yes or no are of a kind of their own: the reader does not answer them, what it finds decides only.
    """
    collections: dict[str, dict[tuple[str, str], Paragraph]] = {}
    for _, line in json_records(file, _ManualQuestion):
        own = collections.setdefault(line.collection, {})
        text = _headed(line.title, line.section, line.passage)
        paragraph = own.setdefault((line.title, line.passage), Paragraph(line.document, text, line.title))
        for title, section, passage in line.others:
            other = Paragraph(f"other {len(own)}", _headed(title, section, passage), title)
            own.setdefault((title, passage), other)
        if zlib.crc32(f"{line.collection}/{line.document}".encode()) % _MANUALS_HELD_OUT:
            continue
        decided = line.kind == "yes-no" or (line.answer is None and asks_yes_no(line.question))
        if decided != (kind == YES_NO) or (decided and not asks_yes_no(line.question)):
            continue
        if line.answer is None:
            paragraph.unanswered.append(line.question)
        else:
            paragraph.answered.append((line.question, (line.answer,)))
    for number, (name, own) in enumerate(sorted(collections.items())):
        others = [each for other, rest in sorted(collections.items()) if other != name for each in rest.values()]
        size = (count * (number + 1)) // len(collections) - (count * number) // len(collections)
        yield _library(kind, name, list(own.values()), others, max(size, 1), draw)


KINDS: dict[str, Callable[[Path, int, random.Random], Iterable[SmallLibrary]]] = {
    "encyclopedia": _encyclopedia,
    "policies": _policies,
    "reviews": _reviews,
    "forum": _forum,
    "stories": _stories,
    "web": _web,
    "search": _search,
}


OPTIONAL = ("policies",)


def _named(library: SmallLibrary, name: str) -> SmallLibrary:
    questions = tuple(
        LibraryQuestion(f"{name}-{number}", each.text, each.answers, each.article)
        for number, each in enumerate(library.questions)
    )
    return SmallLibrary(library.kind, name, library.documents, questions)


def _is_held_out(article: str) -> bool:
    return zlib.crc32(article.encode()) % 1000 < 1000 * _HELD_OUT
