"""What every loader promises, and little files to try it on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from wherefrom.data.examples import Example


def sound(load: Callable[[], Iterator[Example]]) -> list[Example]:
    """The examples, after checking the promises: repeatable, ids unique, spans in place, one id one text."""
    examples = list(load())
    assert examples == list(load())
    ids = [example.question.id for example in examples]
    assert len(set(ids)) == len(ids)
    texts: dict[str, str] = {}
    for example in examples:
        passages = {passage.id: passage for passage in example.passages}
        assert len(passages) == len(example.passages)
        for passage in example.passages:
            assert texts.setdefault(passage.id, passage.text) == passage.text
            assert passage.end - passage.start == len(passage.text)
        for span in example.spans:
            assert passages[span.passage_id].text[span.start : span.end] == span.text
        assert len(example.relevant) in (0, len(example.passages))
        assert len(example.grades) in (0, len(example.passages))
    return examples


def json_lines(path: Path, records: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def tsv(path: Path, rows: Iterable[Iterable[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def text(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode(encoding))
    return path
