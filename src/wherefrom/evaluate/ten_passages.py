"""The ten-passage set: SQuAD questions with ten retrieved passages each, in the layout of MS MARCO v2.1.

Each question is asked of a library of SQuAD paragraphs and Wikipedia articles. An answerable example holds
the gold passage and the best others; in about a third of the examples the gold paragraph is left out, and
nothing in the ten passages holds the answer. Train and valid have libraries of their own: no article and no
passage is in both.

Labels are kept clean: Wikipedia articles that SQuAD was made from are not used (they would hold the gold
text a second time), and a passage that has the answer's words without being gold is passed over.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wherefrom import __version__
from wherefrom.config import IngestSettings, Settings
from wherefrom.data import qa2d, squad
from wherefrom.data.examples import Example, whole
from wherefrom.data.opening import open_bytes
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.features.querytype import query_type
from wherefrom.ingest.formats import Record, read
from wherefrom.library import Library
from wherefrom.types import Document, Hit, Passage, Question

Split = Literal["train", "valid"]
SPLITS: tuple[Split, ...] = ("valid", "train")  # train takes ten times as long
NO_ANSWER = "No Answer Present."


@dataclass(frozen=True, slots=True)
class TenPassagesSettings:
    """How the set is made."""

    seed: int = 2024
    passages: int = 10  # as MS MARCO has in 97 % of its examples
    unanswerable: float = 0.35  # MS MARCO: 45 %; here every removed gold is a lost training answer
    depth: int = 60  # passages retrieved; those with the answer's words are passed over until enough are left
    valid_share: float = 0.2  # of the Wikipedia articles go to the library of valid
    limit: int | None = None  # at most so many questions a split, spread over all articles
    titles: bool = False  # passages carry their article's, as in a library; MS MARCO's have none
    match: bool = True  # of what BM25 finds, the nearest in meaning; off: as BM25 has them, as MS MARCO's search engine
    # matched words, and as the set was until 18 November 2026

    def __post_init__(self) -> None:
        if not 0.0 <= self.unanswerable <= 1.0 or not 0.0 < self.valid_share < 1.0:
            raise SettingsError("unanswerable and valid_share are shares between 0 and 1")
        if self.passages < 2 or self.depth < self.passages:
            raise SettingsError("depth must be at least passages, and passages at least 2")


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """What one split came to."""

    questions: int
    answerable: int
    well_formed: int
    types: dict[str, int]
    gold_rank: dict[str, int]  # where the retriever had the gold passage: first, top 10, top depth, not found
    file: str
    sha256: str


def build(
    data: Path,
    out: Path,
    settings: TenPassagesSettings | None = None,
    report: Callable[[str, int, int], None] = lambda *_: None,
    splits: Sequence[Split] = SPLITS,
) -> dict[Split, SplitFacts]:
    """Write `train.jsonl.gz`, `valid.jsonl.gz` and `ten-passages.json` into `out`; the same seed, the same bytes.

    `data` holds `squad`, `qa2d` and `wikipedia`. A split that is there, made with the same settings and data, is
    kept: an interrupted build goes on with the next one.
    """
    settings = settings or TenPassagesSettings()
    out.mkdir(parents=True, exist_ok=True)
    examples: dict[Split, list[Example]] = {split: list(squad.load(data / "squad", split)) for split in SPLITS}
    sentences = _sentences(data, examples)
    made_of = {"settings": _noted_settings(settings), "wherefrom": __version__, "data": _hashes(data)}
    facts: dict[Split, SplitFacts] = {}
    for split in splits:
        before = _finished(out, split, made_of)
        facts[split] = before or _build_split(data, out, split, examples, sentences, settings, report)
        _write_json(out / f"{split}.json", {**made_of, "facts": _plain(facts[split])})
    _write_json(out / "ten-passages.json", {**made_of, "splits": {split: _plain(facts[split]) for split in splits}})
    return facts


def _build_split(
    data: Path,
    out: Path,
    split: Split,
    examples: dict[Split, list[Example]],
    sentences: dict[str, tuple[str, ...]],
    settings: TenPassagesSettings,
    report: Callable[[str, int, int], None],
) -> SplitFacts:
    used = {_name(example.article) for both in examples.values() for example in both}
    chosen = evenly_spread(examples[split], settings.limit or 0)
    counts: dict[str, int] = {"answerable": 0, "well_formed": 0}
    types: dict[str, int] = {}
    ranks = {"first": 0, "top 10": 0, "deeper": 0, "not found": 0}
    file = out / f"{split}.jsonl.gz"
    fresh = file.with_name(file.name + ".new")
    with tempfile.TemporaryDirectory(dir=out) as work, Library(Path(work) / "library", _searched(settings)) as library:
        library.put([passage_document(example.passages[0]) for example in _by_paragraph(examples[split])])
        for batch in _batches(_articles(data, split, used, settings), 2000):
            library.put(batch)
        # mtime 0: the same content must give the same bytes
        with fresh.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            for number, (example, hits) in enumerate(_retrieved(library, chosen, settings.depth)):
                row, rank = _row(number, example, hits, library, sentences, settings)
                packed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                counts["answerable"] += row["answers"] != [NO_ANSWER]
                counts["well_formed"] += bool(row["wellFormedAnswers"])
                types[row["query_type"]] = types.get(row["query_type"], 0) + 1
                ranks[rank] += 1
                report(split, number + 1, len(chosen))
    fresh.replace(file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return SplitFacts(
        len(chosen), counts["answerable"], counts["well_formed"], dict(sorted(types.items())), ranks, file.name, digest
    )


def _row(
    number: int,
    example: Example,
    hits: Sequence[Hit],
    library: Library,
    sentences: dict[str, tuple[str, ...]],
    settings: TenPassagesSettings,
) -> tuple[dict[str, Any], str]:
    """One line of the set, and where the retriever had the gold passage."""
    chance = random.Random(f"{settings.seed} {example.question.id}")
    paragraph = example.passages[0].id
    gold = _gold_passage(library, example)
    place = next((rank for rank, hit in enumerate(hits) if hit.passage.id == gold.id), None)
    answerable = chance.random() >= settings.unanswerable
    words = [_letters(answer) for answer in example.answers]
    others = [
        hit.passage
        for hit in hits
        if hit.passage.document_id != paragraph and not any(word in _letters(hit.passage.text) for word in words)
    ]
    chosen = [*others[: settings.passages - 1], gold] if answerable else others[: settings.passages]
    chance.shuffle(chosen)  # MS MARCO's order tells next to nothing, and a reader must not learn the place
    row = {
        "query_id": number,
        "query": example.question.text,
        "query_type": query_type(example.question.text),
        "passages": [
            {
                "is_selected": int(passage.id == gold.id),
                "passage_text": passage.text,
                "url": passage.id,
                **({"title": passage.title.replace("_", " ")} if settings.titles else {}),
            }
            for passage in chosen
        ],
        "answers": list(dict.fromkeys(example.answers)) if answerable else [NO_ANSWER],
        "wellFormedAnswers": list(sentences.get(example.question.id, ())) if answerable else [],
        "source_id": example.question.id,
    }
    depth = "not found" if place is None else "first" if place == 0 else "top 10" if place < 10 else "deeper"
    return row, depth


def _noted_settings(settings: TenPassagesSettings) -> dict[str, Any]:
    """As they are written beside the set; what it had before there was a choice is not named."""
    noted: dict[str, Any] = _plain(settings)
    if not settings.titles:
        del noted["titles"]
    if settings.match:
        del noted["match"]
    return noted


def _searched(settings: TenPassagesSettings) -> Settings:
    """How the library of a split is searched."""
    usual = Settings()
    return usual if settings.match else replace(usual, retrieve=replace(usual.retrieve, match="none"))


def _gold_passage(library: Library, example: Example) -> Passage:
    """The passage of the gold paragraph that holds the answer; the one with the most room around it, if two do."""
    holding = [
        passage
        for span in example.spans[:1]
        for passage in library.passages_of(example.passages[0].id)
        if passage.start <= span.start and span.end <= passage.end
    ]
    if not holding:
        # An answer that runs over two passages, or has no place: take the whole paragraph, so that it stays readable.
        return replace(example.passages[0], id=f"{example.passages[0].id}#whole")
    span = example.spans[0]
    return max(holding, key=lambda passage: (min(span.start - passage.start, passage.end - span.end), passage.id))


def _retrieved(library: Library, examples: Sequence[Example], depth: int) -> Iterator[tuple[Example, list[Hit]]]:
    retriever = library.pipeline(k=depth).retriever
    for batch in _batches(examples, 200):
        questions = [Question(example.question.id, example.question.text) for example in batch]
        yield from zip(batch, retriever.retrieve(questions), strict=True)


def passage_document(passage: Passage) -> Document:
    """A dataset's passage as a document of a library, under the same id."""
    return Document(passage.id, passage.text, passage.title, "squad")


def _articles(data: Path, split: Split, used: set[str], settings: TenPassagesSettings) -> Iterator[Document]:
    """Wikipedia articles of this split's share that SQuAD was not made from."""
    for file in wikipedia_files(data):
        for record in read(file, IngestSettings()):
            if not isinstance(record, Record):
                raise WherefromError(f"{record.name}: {record.reason}")
            if _name(record.title) in used or _split_of(record.title, settings) != split:
                continue
            yield Document(f"wikipedia:{record.id}", record.text, record.title, file.name)


def wikipedia_files(data: Path) -> list[Path]:
    files = sorted((data / "wikipedia").glob("*.txt*"))
    if not files:
        raise WherefromError(f"{data / 'wikipedia'} holds no *.txt, *.txt.gz or *.txt.xz of WikiExtractor's form")
    return files


def _split_of(title: str, settings: TenPassagesSettings) -> Split:
    """By a hash of the title: an article is in the same split whatever files it is read from."""
    number = int.from_bytes(hashlib.blake2b(f"{settings.seed} {_name(title)}".encode(), digest_size=8).digest())
    return "valid" if number / 2**64 < settings.valid_share else "train"


def _sentences(data: Path, examples: dict[Split, list[Example]]) -> dict[str, tuple[str, ...]]:
    """QA2D's sentences by SQuAD question; a question of valid keeps those of QA2D's training file too."""
    by_question: dict[str, tuple[str, ...]] = {}
    every = [example for both in examples.values() for example in both]
    for split in ("train", "valid"):
        rows = qa2d.load(data / "qa2d", split, detokenize=True)
        for example in qa2d.on_squad(rows, every):
            by_question[example.question.id] = tuple(
                dict.fromkeys((*by_question.get(example.question.id, ()), *example.sentences))
            )
    return by_question


def _by_paragraph(examples: Iterable[Example]) -> list[Example]:
    return list({example.passages[0].id: example for example in examples}.values())


def _name(title: str) -> str:
    return _letters(title.replace("_", " "))


def _letters(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _hashes(data: Path) -> dict[str, str]:
    files = sorted((data / "squad").glob("*-v1.1.json*")) + sorted((data / "qa2d").glob("*.tsv*"))
    files += wikipedia_files(data)
    return {f"{file.parent.name}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _finished(out: Path, split: Split, made_of: dict[str, Any]) -> SplitFacts | None:
    """What an earlier run made of this split, if it was made of the same."""
    try:
        noted = json.loads((out / f"{split}.json").read_text(encoding="utf-8"))
        facts = SplitFacts(**noted.pop("facts"))
        same = noted == made_of and hashlib.sha256((out / facts.file).read_bytes()).hexdigest() == facts.sha256
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return facts if same else None


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def _write_json(path: Path, value: object) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    fresh.replace(path)


# Reading it again


def passage_of(passage: dict[str, Any], titles: Mapping[str, str]) -> Passage:
    """A passage of the ten-passage set under its own id, with the title of its document."""
    url = passage["url"]
    document = url.partition("#")[0]
    title = titles.get(document, "") if document.startswith("wikipedia:") else document.replace("_", " ")
    return whole(url, passage["passage_text"], title)


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a split of the ten-passage set, with what the catalogue's loader leaves out: ids of passages."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def wikipedia_titles(data: Path) -> Iterator[tuple[str, str]]:
    """Titles by the ids that the ten-passage set uses."""
    for file in sorted((data / "wikipedia").glob("*.txt*")):
        with open_bytes(file) as lines:
            for line in lines:
                if line.startswith(b"<doc "):
                    match = re.search(r'id="([^"]*)".*title="(.*)">', line.decode("utf-8"))
                    if match:
                        yield f"wikipedia:{match[1]}", match[2]
