"""Passages: exact pieces of their document, about a hundred words each, at sentence borders."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.config import SplitSettings
from wherefrom.ingest.split import _is_heading, split
from wherefrom.text import sentences
from wherefrom.types import Document, Place

any_text = (
    st.text()
    | st.text(alphabet="ab .\n灯。é\u00a0", min_size=50, max_size=2000)
    | st.lists(st.sampled_from(["Heading", "A word. Two words.", "A line\n       set in"])).map("\n\n".join)
)
settings = st.builds(SplitSettings, words=st.integers(2, 30), overlap=st.integers(0, 1), section=st.integers(0, 9))


def prose(sentence_count: int, words_each: int) -> str:
    return " ".join(f"S{number} " + "word " * (words_each - 2) + "end." for number in range(sentence_count))


@given(any_text, settings, st.lists(st.integers(0, 200)))
def test_passages_are_ordered_pieces_that_hold_every_word(
    text: str, settings: SplitSettings, sections: list[int]
) -> None:
    passages = split(text, settings, sections)
    assert all(0 <= start < end <= len(text) for start, end in passages)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(passages))
    assert all(not text[start].isspace() and not text[end - 1].isspace() for start, end in passages)
    covered = {position for start, end in passages for position in range(start, end)}
    assert all(character.isspace() for position, character in enumerate(text) if position not in covered)


@given(any_text, settings, st.lists(st.integers(0, 200)))
def test_no_passage_is_much_longer_than_asked(text: str, settings: SplitSettings, sections: list[int]) -> None:
    for start, end in split(text, settings, sections):
        # A passage just short of its length may take one more sentence of up to one and a half lengths.
        assert len(text[start:end].split(" ")) <= 3 * settings.words + 2


def test_passages_have_about_a_hundred_words() -> None:
    text = prose(200, 17)
    lengths = [len(text[start:end].split()) for start, end in split(text)]
    assert all(85 <= length <= 115 for length in lengths[:-1])


def test_passages_begin_and_end_at_sentence_borders() -> None:
    text = prose(60, 23)
    borders = sentences(text)
    starts, ends = {start for start, _ in borders}, {end for _, end in borders}
    assert all(start in starts and end in ends for start, end in split(text))


def test_neighbours_share_a_short_sentence() -> None:
    text = prose(40, 20)
    passages = split(text, SplitSettings(words=100, overlap=25))
    shared = [text[after[0] : before[1]] for before, after in itertools.pairwise(passages)]
    assert all(len(piece.split()) == 20 for piece in shared)


def test_neighbours_share_nothing_without_overlap() -> None:
    text = prose(40, 20)
    passages = split(text, SplitSettings(words=100, overlap=0))
    assert all(before[1] < after[0] for before, after in itertools.pairwise(passages))


def test_a_heading_goes_with_what_follows_it() -> None:
    text = f"{prose(5, 19)}\n\nThe heading\n\n{prose(5, 20)}"
    pieces = [text[start:end] for start, end in split(text, SplitSettings(words=100, overlap=0))]
    assert [piece.startswith("The heading") for piece in pieces] == [False, True]
    assert not pieces[0].endswith("The heading")


class TestSections:
    TEXT = f"Editor\n\n{prose(3, 20)}\n\nEntropy\n\n{prose(3, 20)}\n\nShort\n\nOne word.\n\nLast\n\n{prose(2, 20)}"

    def pieces(self, least: int) -> list[str]:
        sections = [self.TEXT.index(heading) for heading in ("Editor", "Entropy", "Short", "Last")]
        return [self.TEXT[start:end] for start, end in split(self.TEXT, SplitSettings(section=least), sections)]

    def test_a_passage_ends_where_its_section_does(self) -> None:
        pieces = self.pieces(40)
        assert [piece.partition("\n")[0] for piece in pieces] == ["Editor", "Entropy", "Short"]
        assert sum(map(len, pieces)) + 2 * len("\n\n") == len(self.TEXT)  # nothing is repeated beyond a border

    def test_a_short_section_shares_its_passage_with_the_next(self) -> None:
        assert "Last" in self.pieces(40)[2]

    def test_none_is_looked_at_where_that_is_not_wanted(self) -> None:
        assert "Entropy" in self.pieces(0)[0]

    def test_a_page_is_none(self) -> None:
        places = (Place(0, "page 1", 1), Place(7, "Install"), Place(9, "page 2", 2))
        assert Document("id", self.TEXT, places=places).sections == (7,)


def test_a_sentence_of_a_thousand_words_is_cut_between_words() -> None:
    text = " ".join(f"w{number}" for number in range(1000)) + "."
    pieces = [text[start:end] for start, end in split(text)]
    assert len(pieces) == 10
    assert " ".join(pieces) == text


def test_an_unbroken_run_of_characters_is_cut_too() -> None:
    text = "x" * 100_000
    passages = split(text)
    assert max(end - start for start, end in passages) <= 2400
    assert "".join(text[start:end] for start, end in passages) == text


def test_a_long_text_without_spaces_between_words_is_cut_by_characters() -> None:
    text = "灯台は高い建物です。" * 100
    lengths = [end - start for start, end in split(text)]
    assert all(80 <= length <= 120 for length in lengths[:-1])


@pytest.mark.parametrize("text", ["", " ", "\n\n\n"])
def test_nothing_gives_no_passages(text: str) -> None:
    assert split(text) == []


def test_one_word_is_a_passage() -> None:
    assert split("  Yes\n") == [(2, 5)]


def test_lines_that_look_like_headings_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each passage went over a hundred of them again: 240 kB took four seconds."""
    seen: list[int] = []

    def looked_at(text: str, start: int, end: int) -> bool:
        seen.append(start)
        return _is_heading(text, start, end)

    monkeypatch.setattr("wherefrom.ingest.split._is_heading", looked_at)
    split("a\n\n" * 1_000)
    assert sorted(seen) == list(range(0, 3_000, 3))
