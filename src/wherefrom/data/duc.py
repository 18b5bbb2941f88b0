"""DUC 2005-2007: a topic with a narrative, 25 to 32 news articles, and four or more summaries of 250 words.

NIST gives them to whoever asks; unpack them anywhere below one folder. Found by name: the topics file
(`duc2006_topics.sgml`), one folder of articles a topic (`D0601A`), and the human summaries that ROUGE compares with
(`D0601.M.250.A.C`: topic, length, selector, and the letter of the writer; systems have numbers there).
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import DatasetError, Ids, RecordPlace, choice
from wherefrom.data.opening import Files, read_text, split_name
from wherefrom.types import Passage, Question

FILES: Files = {year: (f"*{year}*topics*.sgml",) for year in ("2005", "2006", "2007")}
QUERIES = ("topic", "narrative", "title")  # title and narrative; the narrative alone; the title alone

_PACKED = re.compile(r"\.(gz|xz|bz2)$")
_MODEL = re.compile(r"(d\d+)\.m\.\d+\.([a-z])\.[a-z](\.html)?", re.IGNORECASE)
_TOPIC = re.compile(r"<topic\b[^>]*>(.*?)</topic>", re.IGNORECASE | re.DOTALL)
_DOCUMENT = re.compile(r"<doc\b[^>]*>(.*?)</doc>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_PARAGRAPH = re.compile(
    r"</?p\b[^>]*>|\n[^\S\n]*\n|\n(?=[ \t]{2,}\S)", re.IGNORECASE
)  # tags, a blank line or an indent
_WIRE_MARKS = re.compile(r"&(?:UR|LR|QL|QC|QR);")  # layout marks of the newswires, no characters
_SEE_SENTENCE = re.compile(r"<a\s[^>]*\bid=[^>]*>(.*?)</a>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Tree:
    """What lies below the folder, by small letters: names differ in case from year to year."""

    topics: list[Path]
    folders: dict[str, Path]
    models: dict[str, list[Path]]  # by topic with selector, and by topic alone


def load(path: Path, split: str, *, query: str = "topic", models: bool = True) -> Iterator[Example]:
    """DUC of the year `split`; every article is a passage, titled with its headline.

    `query` says what is asked; `models=False` does without the human summaries.
    """
    choice("query", query, QUERIES)
    year = split_name(split, FILES)
    if not path.is_dir():
        raise DatasetError(f"{path} is no folder; expected one with {FILES[year][0]} below it")
    tree = _tree(path, year)
    if not tree.topics:
        raise DatasetError(f"{path} holds no {FILES[year][0]}, at any depth")
    return _examples(tree, query, models)


def _examples(tree: _Tree, query: str, models: bool) -> Iterator[Example]:
    ids = Ids()
    blocks = _TOPIC.findall(read_text(tree.topics[0]))
    if not blocks:
        raise DatasetError(f"{tree.topics[0]}: expected <topic> elements, found none")
    for number, block in enumerate(blocks, start=1):
        place = RecordPlace(tree.topics[0], number, "topic")
        id = ids.once(_field(block, "num", place), place, "num")
        title, narrative = _field(block, "title", place), _field(block, "narr", place)
        question = {"topic": f"{title}\n{narrative}", "narrative": narrative, "title": title}[query]
        yield Example(
            Question(id, question),
            tuple(_articles(tree, id, place)),
            summaries=_summaries(tree, id, place) if models else (),
            article=id,
        )


def _tree(root: Path, year: str) -> _Tree:
    tree = _Tree([], {}, defaultdict(list))
    for path in sorted(root.rglob("*")):
        name = _PACKED.sub("", path.name)
        if path.is_dir():
            tree.folders.setdefault(name.lower(), path)
        elif match := _MODEL.fullmatch(name):
            tree.models[(match[1] + match[2]).lower()].append(path)
            tree.models[match[1].lower()].append(path)
        elif "topics" in name.lower() and year in name and name.lower().endswith(".sgml"):
            tree.topics.append(path)
    return tree


def _articles(tree: _Tree, topic: str, place: RecordPlace) -> Iterator[Passage]:
    folder = tree.folders.get(topic.lower())
    if folder is None:
        raise place.fault(f"num {topic}: expected a folder of that name with its articles")
    files = sorted(child for child in folder.iterdir() if child.is_file())
    if not files:
        raise place.fault(f"num {topic}: expected articles in {folder}, found none")
    ids = Ids()
    for file in files:
        blocks = _DOCUMENT.findall(read_text(file))
        if not blocks:
            raise DatasetError(f"{file}: expected a <DOC> element, found none")
        for number, block in enumerate(blocks, start=1):
            document = RecordPlace(file, number, "DOC")
            id = ids.once(_field(block, "docno", document), document, "DOCNO")
            body = "graphic" if "<text" not in block.lower() and "<graphic" in block.lower() else "text"
            yield whole(id, _prose(_content(block, body, document)), _headline(block))


def _summaries(tree: _Tree, topic: str, place: RecordPlace) -> tuple[str, ...]:
    """The human summaries, each once: some packages hold copies."""
    number, selector = topic[:-1].upper(), topic[-1].upper()
    files = tree.models.get(topic.lower()) or tree.models.get(number.lower())
    if not files:
        raise place.fault(f"num {topic}: expected human summaries such as {number}.M.250.{selector}.A")
    return tuple(dict.fromkeys(_summary(file) for file in files))


def _summary(path: Path) -> str:
    """A model summary: plain lines, or the HTML of the SEE editor, a sentence a numbered anchor."""
    text = read_text(path)
    if "<html" in text.lower():
        text = "\n".join(_SEE_SENTENCE.findall(text))
    lines = (_plain(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _headline(block: str) -> str:
    match = re.search(r"<headline\b[^>]*>(.*?)</headline>", block, re.IGNORECASE | re.DOTALL)
    return _plain(match[1]) if match else ""


def _prose(content: str) -> str:
    """Paragraphs with a blank line between them, white space made even."""
    paragraphs = (_plain(paragraph) for paragraph in _PARAGRAPH.split(content))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _plain(content: str) -> str:
    return " ".join(html.unescape(_WIRE_MARKS.sub(" ", _TAG.sub(" ", content))).split())


def _field(block: str, name: str, place: RecordPlace) -> str:
    value = _plain(_content(block, name, place))
    if not value:
        raise place.fault(f"{name}: expected some text")
    return value


def _content(block: str, name: str, place: RecordPlace) -> str:
    match = re.search(rf"<{name}\b[^>]*>(.*?)</{name}>", block, re.IGNORECASE | re.DOTALL)
    if match is None:
        raise place.fault(f"expected <{name}> ... </{name}>")
    return match[1]
