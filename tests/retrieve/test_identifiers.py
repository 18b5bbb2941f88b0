"""Names in code are found whole and in parts, and prose is left as it is."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.config import IndexSettings
from wherefrom.retrieve import identifiers
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.retrieve.identifiers import with_names


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("set shared_buffers now", "sharedbuffers"),
        ("the maxConnections setting", "maxConnections max Connections"),
        ("class HTTPServer and DataFrame", "DataFrame Data Frame"),
        ("call os.path.join(a)", "ospathjoin"),
        ("std::vector holds", "stdvector"),
        ("pass --dry-run first", "optiondryrun"),
        ("pass -n first", "optionn"),
        ("in /etc/postgresql.conf there", "pathetcpostgresqlconf"),
        ("under /opt.", "pathopt"),
        ("written in C++ or C#", "Cplusplus"),
    ],
)
def test_a_name_is_also_one_word(text: str, more: str) -> None:
    assert more in with_names(text)
    assert set(text.split()) <= set(with_names(text).replace("(a)", "").split()) | {
        "join(a)",
        "os.path.join(a)",
        "/opt.",
    }


@pytest.mark.parametrize(
    "text",
    [
        "The harbour opened in 1908. Its lighthouse was built by Ines Moreau.",
        "A well-known, long-term plan - or two - for 3.5 % and/or 24/7.",
        "He left.Then he came back, e.g. by U.S. rail; see p. 12.",
        "write to ann@example.org",
        "McX",
    ],
)
def test_prose_is_hardly_touched(text: str) -> None:
    added = set(with_names(text).split()) - set(text.split())
    assert len(added) <= 2


@given(st.text(max_size=200))
def test_nothing_of_a_text_is_lost(text: str) -> None:
    rest = iter(with_names(text))
    assert all(letter in rest for letter in text)  # in their order


@given(st.text(alphabet="aB1_-./:~#+@> \n\tzéC漢", max_size=60))
def test_looking_around_signs_finds_what_looking_everywhere_finds(text: str) -> None:
    assert with_names(text) in (text, identifiers._ALL.sub(identifiers._spelled_out, text))
    assert with_names(f"{text} my_name") == identifiers._ALL.sub(identifiers._spelled_out, f"{text} my_name")


def test_long_runs_are_quick() -> None:
    for text in (
        "a_" * 50_000,
        "/a" * 50_000,
        "aB" * 50_000,
        "--" * 50_000,
        "a.b" * 50_000,
        "-a" * 50_000,
        "A" * 100_000,
    ):
        assert len(with_names(text)) >= len(text)


def filled(path: Path, texts: list[str]) -> BM25Index:
    index = BM25Index(path, IndexSettings())
    index.create()
    index.put(range(len(texts)), texts)
    index.commit()
    return index


TEXTS = [
    "The buffers of a server are shared by all, and shared memory holds the shared buffers.",
    "How much memory is taken is set by shared_buffers.",
    "A dry room; run, do not walk. Dry, dry.",
    "With --dry-run nothing is written.",
    "The option maxConnections limits what comes in.",
    "You can opt out of letters.",
    "Additional packages go to /opt.",
]


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("shared_buffers", 1),
        ("what does --dry-run do?", 3),
        ("max connections", 4),
        ("maxConnections", 4),
        ("max_connections", 4),
        ("what is in /opt?", 6),
    ],
)
def test_whoever_types_it_exactly_finds_it_first(tmp_path: Path, question: str, key: int) -> None:
    assert filled(tmp_path, TEXTS).search([question], 3)[0][0][0] == key


def test_the_parts_still_find_it(tmp_path: Path) -> None:
    hits = filled(tmp_path, TEXTS).search(["shared buffers"], 3)[0]
    assert {key for key, _ in hits[:2]} == {0, 1}


def test_a_long_run_of_letters_takes_no_time() -> None:
    """It takes minutes where each letter is tried as a beginning of each rest."""
    text = "aB " + "a" * 100_000 + " /a" * 1_000 + " _" * 1_000
    begun = time.process_time()
    assert with_names(text).startswith("aB")
    assert time.process_time() - begun < 5
