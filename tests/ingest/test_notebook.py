"""Notebooks give their words, their code and what it printed, and broken ones are refused."""

from __future__ import annotations

import json

import pytest

from wherefrom.errors import IngestError
from wherefrom.ingest.notebook import read

CELLS = [
    {"cell_type": "markdown", "source": ["# Tides of *May*\n", "\n", "They rise."]},
    {"cell_type": "raw", "source": "never shown"},
    {
        "cell_type": "code",
        "source": "x = 1\n\nx + 1",
        "outputs": [
            {"output_type": "execute_result", "data": {"text/plain": ["2"], "image/png": "iVBORw0KGgo="}},
            {"output_type": "stream", "text": "\x1b[31mred\x1b[0m line\n"},
            {"output_type": "display_data", "data": {"text/plain": "<Figure size 640x480 with 1 Axes>"}},
            {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["long"]},
        ],
    },
]


def test_a_notebook_reads_as_it_is_shown() -> None:
    record = read(json.dumps({"cells": CELLS, "nbformat": 4}).encode(), "tides.ipynb")
    assert record.title == "Tides of May"
    assert record.text == "\n\n".join(
        ["Tides of May\n\nThey rise.", "x = 1\n \nx + 1", "    2", "    red line", "    ValueError: no"]
    )
    assert [(place.label, record.text[place.start :][:5]) for place in record.places] == [
        ("cell 1", "Tides"),
        ("cell 3", "x = 1"),
    ]


def test_an_old_notebook_is_read() -> None:
    cells = [{"cell_type": "heading", "source": "Old"}, {"cell_type": "code", "input": "print(1)", "outputs": []}]
    record = read(json.dumps({"worksheets": [{"cells": cells}]}).encode(), "x.ipynb")
    assert (record.title, record.text) == ("Old", "Old\n\n    print(1)")


def test_long_output_is_cut() -> None:
    cell = {"cell_type": "code", "source": "run()", "outputs": [{"output_type": "stream", "text": "line\n" * 5000}]}
    text = read(json.dumps({"cells": [cell]}).encode(), "x.ipynb").text
    assert text.endswith("line\n…")
    assert len(text) < 2_100


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"cells": 1}', b"{", b'{"a": ' + b"[" * 100_000, b'{"worksheets": [{}]}']
)
def test_what_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(IngestError, match="not a notebook"):
        read(data, "x.ipynb")


def test_cells_of_the_wrong_kinds_are_passed_over() -> None:
    cells = [1, None, {}, {"cell_type": "markdown", "source": 3}, {"cell_type": "code", "source": "x", "outputs": [1]}]
    assert read(json.dumps({"cells": cells}).encode(), "x.ipynb").text == "    x"
