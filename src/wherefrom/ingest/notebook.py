"""Jupyter notebooks: the words of their text cells, the code, and what it printed; pictures are left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from wherefrom.errors import IngestError
from wherefrom.ingest import markdown
from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import readable_name

_NO_NOTEBOOK = "it is damaged, or not a notebook"
_LONGEST_OUTPUT = 2_000  # characters; longer ones are tables and logs, and drown what the notebook says
_MARKUP = re.compile(r"[#*_`\[\]<>|~&\\!+=-]|^[ \t]*\d+[.)]|^ {4}", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)


def read(data: bytes, name: str) -> Record:
    """A notebook; its title is its first heading, else made of the file's name. Its places are its cells."""
    blocks = Blocks()
    title = ""
    for number, cell in enumerate(_cells(data), 1):
        source = _text(cell.get("source", cell.get("input")))
        kind = cell.get("cell_type")
        blocks.place(f"cell {number}")
        if kind == "heading":  # of notebooks before 2014
            blocks.heading(source)
            title = title or " ".join(source.split())
        elif kind == "markdown":
            heading = _HEADING.search(source)
            title = title or (_words(heading[1].rstrip(" \t#")) if heading else "")
            blocks.add(_words(source))
        elif kind == "code" and source.strip():
            blocks.literal(source)
            for output in _outputs(cell):
                blocks.literal(output)
    return blocks.record(title or readable_name(name))


def _cells(data: bytes) -> Iterator[dict[str, Any]]:
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise IngestError(_NO_NOTEBOOK) from error
    if not isinstance(notebook, dict):
        raise IngestError(_NO_NOTEBOOK)
    sheets = notebook.get("worksheets")
    lists = [sheet.get("cells") for sheet in _dicts(sheets)] if sheets else [notebook.get("cells")]
    if not all(isinstance(cells, list) for cells in lists):
        raise IngestError(_NO_NOTEBOOK)
    for cells in lists:
        yield from _dicts(cells)


def _dicts(values: object) -> Iterator[dict[str, Any]]:
    yield from (value for value in values if isinstance(value, dict)) if isinstance(values, list) else ()


def _text(value: object) -> str:
    """A text, which notebooks keep whole or as a list of lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _words(source: str) -> str:
    """Markdown as readable text; the parser is spared what has no marks, for there may be very many cells."""
    return markdown.read(source.encode("utf-8", "replace"), "").text if _MARKUP.search(source) else source.strip()


def _outputs(cell: dict[str, Any]) -> Iterator[str]:
    for output in _dicts(cell.get("outputs")):
        if output.get("output_type") in ("error", "pyerr"):
            text = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        else:
            shown = output.get("data")
            text = _text(shown.get("text/plain") if isinstance(shown, dict) else output.get("text"))
        text = _COLOURS.sub("", text).strip("\n")
        if not re.fullmatch(r"<[\w. ]+ at 0x[0-9a-f]+>|<Figure size .*>|", text):
            yield text if len(text) <= _LONGEST_OUTPUT else text[:_LONGEST_OUTPUT].rpartition("\n")[0] + "\n…"
