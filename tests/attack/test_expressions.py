"""Expressions that take more than their share of time are told from those that do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("psutil", reason="`pip install 'wherefrom[dev]'` brings psutil")

from attack.expressions import Expression, slow_ones

from attack import expressions

# Python warns of forks of a process with threads, as a worker of pytest-xdist is; these forks run Python alone.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

SLOW = [
    (r"(?:<!--.*?-->|\s)*<html", "match"),  # of the first attack: a page of comments that is none
    (r"(\S+)-\s*(\S+)", "search"),
    (r"[^\W\d_]+[-\xad]$", "search"),
    (r"\[\[[^\]]*\]\]", "search"),
    (r"\d*[.]?\d*\|", "match"),
]
QUICK = [
    (r"\s+$", "match"),
    (r"(?<!\S)(\S+)-", "search"),
    (r"[^\W\d_][-\xad]$", "search"),
    (r"\[\[[^\]\[]*+\]\]", "search"),
    (r"\[\[[^\]]{0,20}\]\]", "search"),
    (r"[ivxlc]{1,7}\.|\d{1,4}", "search"),
]


def told(pattern: str, how: str) -> list[str]:
    return [why for _, why in slow_ones([Expression("here", re.compile(pattern), frozenset((how,)))])]


@pytest.mark.parametrize(("pattern", "how"), SLOW)
def test_one_that_takes_the_square_of_a_length_or_worse_is_told(
    pattern: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expressions, "_ENDLESS", 1.5)
    assert told(pattern, how)


@pytest.mark.parametrize(("pattern", "how"), QUICK)
def test_one_that_takes_a_line_is_not(pattern: str, how: str) -> None:
    assert not told(pattern, how)


def test_expressions_are_those_of_a_module_with_what_is_called_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_this_test.py").write_text(
        "import re\n"
        "_SIGN = 'x'\n"
        "FIRST = re.compile(rf'{_SIGN}+a')\n"
        "SECOND = re.compile(b'b', re.I)\n"
        "THIRD = re.compile('c')  # linear: of a short text\n"
        "def f(text, name):\n"
        "    assert SECOND is not None\n"
        "    re.compile(rf'e{name}').match(text, 3)\n"
        "    return FIRST.match(text), SECOND.search(text), re.fullmatch('d', text)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(expressions, "ROOT", tmp_path)
    found = {
        each.pattern.pattern: each.called
        for each in expressions.expressions("of_this_test", tmp_path / "of_this_test.py")
    }
    assert found == {
        "x+a": frozenset(("match",)),
        b"b": frozenset(("search", "match")),
        "d": frozenset(("fullmatch",)),
        "ea": frozenset(("search",)),
    }
