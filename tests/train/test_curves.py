"""The curves as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.train.curves import _ticks, curves

SVG = "{http://www.w3.org/2000/svg}"


def row(step: int, loss: float | None, **metrics: float) -> dict[str, Any]:
    return {"step": step, "losses": {} if loss is None else {"loss": loss}, "metrics": metrics}


def drawn(rows: list[dict[str, Any]], kept_step: int | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(curves(rows, "reader <1>", kept_step))


def texts(picture: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in picture.iter(f"{SVG}text")]


def test_draws_a_panel_for_each_loss_and_metric() -> None:
    picture = drawn([row(0, None, f1=0.1), row(10, 2.0), row(20, 1.0, f1=0.5)], kept_step=20)
    assert len(list(picture.iter(f"{SVG}polyline"))) == 2
    assert {"reader <1>", "loss", "f1", "last 1", "kept 0.5 · last 0.5"} <= set(texts(picture))


def test_lower_losses_lie_lower() -> None:
    (line,) = drawn([row(0, 4.0), row(10, 1.0)]).iter(f"{SVG}polyline")
    (x0, y0), (x1, y1) = (tuple(map(float, point.split(","))) for point in line.attrib["points"].split())
    assert x0 < x1
    assert y0 < y1  # an SVG counts downwards


def test_needs_nothing_beside_itself() -> None:
    text = curves([row(1, 1.0)], "one")
    assert "href" not in text
    assert "url(" not in text
    assert "<script" not in text


def test_a_long_log_stays_a_small_picture() -> None:
    assert len(curves([row(step, 1.0 / (step + 1)) for step in range(50_000)], "long")) < 20_000


def test_an_empty_log_is_an_empty_picture() -> None:
    assert drawn([]).tag == f"{SVG}svg"


@given(st.lists(st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-9), min_size=1, max_size=5))
def test_ticks_enclose_the_values(values: list[float]) -> None:
    ticks = _ticks(values)
    slack = 1e-6 * (ticks[-1] - ticks[0])
    assert ticks == sorted(ticks)
    assert 2 <= len(ticks) <= 7
    assert ticks[0] - slack <= min(values)
    assert max(values) <= ticks[-1] + slack


def test_ticks_are_round() -> None:
    assert _ticks([0.13, 0.92]) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
