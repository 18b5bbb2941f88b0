"""The mask figure shows what the network is given: every field of it, and no other."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
import torch

from wherefrom.systems.bertsum.audit import QueryTriple
from wherefrom.systems.bertsum.material import batch_of, encoded
from wherefrom.systems.bertsum.network import Mask, attention_mask
from wherefrom.systems.bertsum.pictures import DOCUMENT, QUERY, mask_figure, seen

SVG = "{http://www.w3.org/2000/svg}"
WORDS = {word: 3 + number for number, word in enumerate("dogs sleep cats run ?".split())}


def cut(text: str) -> list[int]:
    return [WORDS[word] for word in re.findall(r"\w+|\?", text.lower())]


def fields(kind: Mask) -> list[list[bool]]:
    """Which fields of the picture are full, row by row from the top."""
    rows: dict[float, list[tuple[float, bool]]] = {}
    for each in ElementTree.fromstring(mask_figure(kind)).iter(f"{SVG}rect"):
        rows.setdefault(float(each.attrib["y"]), []).append((float(each.attrib["x"]), each.attrib["fill"] != "none"))
    return [[full for _, full in sorted(rows[y])] for y in sorted(rows)]


@pytest.mark.parametrize("kind", ["bidirectional", "qd"])
def test_full_fields_are_what_the_network_may_look_at(kind: Mask) -> None:
    """Of the same words, cut and put together as a training does it."""
    triple = QueryTriple("dogs?", "Dogs sleep. Cats run.", "dogs")
    batch = batch_of([encoded(triple, cut, 100, 25, query=True)]).given
    assert batch.tokens.shape[1] == len(QUERY) + len(DOCUMENT)
    assert fields(kind) == attention_mask(batch.query, batch.mask, kind)[0].tolist() == seen(kind)


def test_the_masks_differ_where_the_query_would_see_the_document() -> None:
    both, qd = torch.tensor(seen("bidirectional")), torch.tensor(seen("qd"))
    hidden = torch.zeros_like(both)
    hidden[: len(QUERY), len(QUERY) :] = True
    assert both.all()
    assert torch.equal(~qd, hidden)


def test_every_token_is_named_beside_its_row_and_above_its_column() -> None:
    texts = [each.text for each in ElementTree.fromstring(mask_figure("qd")).iter(f"{SVG}text")]
    for word in {*QUERY, *DOCUMENT}:
        assert texts.count(word) == 2 * [*QUERY, *DOCUMENT].count(word)
    assert texts.count("query") == texts.count("document") == 2
