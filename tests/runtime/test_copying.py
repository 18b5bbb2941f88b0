"""Names and numbers are copied whole, from where they stand; nothing else may be made up of pieces."""

from __future__ import annotations

import numpy
import pytest

from runtime.letter_places import PIECES, pieces, text, vocabulary
from train.letters import MARKS
from wherefrom.runtime.copying import ANSWER, QUESTION, CopyPlaces, Text, Under, allowed, places_of


def test_words_open_follow_and_close() -> None:
    places = places_of([text("The king's 1,984 beetles.")], ())
    assert pieces(places, places.opens) == ["the", "king", "'", "s", "1", "beet", "."]
    assert pieces(places, places.follows) == [",", "9", "##8", "##4", "##les"]
    assert pieces(places, places.closes) == ["the", "king", "'", "s", "##4", "##les", "."]  # a king's king is whole


def test_a_number_is_one_word_up_to_its_last_digit() -> None:
    places = places_of([text("in 1,984 beets")], ())
    number = places.guarded
    assert pieces(places, number)[:2] == ["1", ","]
    assert int((places.opens & number).sum()) == 1
    assert int((places.closes & number).sum()) == 1


def test_guards_capitals_and_digits_only() -> None:
    places = places_of([text("old King of 3 towns")], ())
    assert pieces(places, places.guarded & places.opens) == ["king", "3"]


def test_a_name_that_the_window_cuts_cannot_be_copied() -> None:
    whole = text("look Beetles look")
    cut = text("look Beetles look", end=2)  # look, beet
    assert places_of([whole], ()).copyable.all()
    assert places_of([cut], ()).copyable.tolist() == [True, False]
    begun = text("look Beetles look", start=2)  # ##les, look
    assert places_of([begun], ()).copyable.tolist() == [False, True]


def test_marks_of_the_network_cannot_be_copied() -> None:
    places = places_of([text("a [SEP] b")], (MARKS.separate,))
    assert MARKS.separate not in places.tokens[places.copyable]


def test_the_same_characters_are_one_place_for_shares() -> None:
    passage = text("the red king")
    answer = Text(ANSWER, 0, "    red king", passage.tokens[1:], passage.offsets[1:])
    places = places_of([text("who", QUESTION, -1), answer, passage], ())
    assert places.same.tolist() == [0, 1, 2, 3, 1, 2]


def test_no_text_no_places() -> None:
    places = places_of([text("", QUESTION, -1), text("")], ())
    assert len(places) == 0
    columns, none = allowed(Under(numpy.zeros(0, bool)), places, vocabulary())
    assert columns.any()
    assert len(none) == 0


class TestAllowed:
    @pytest.fixture
    def places(self) -> CopyPlaces:
        return places_of([text("old Beetles look at 31 beets")], ())

    def at(self, places: CopyPlaces, piece: str) -> numpy.ndarray:
        return places.tokens == PIECES.index(piece)

    def test_at_first_every_word_may_begin(self, places: CopyPlaces) -> None:
        columns, may = allowed(Under(numpy.zeros(len(places), bool)), places, vocabulary())
        assert may.tolist() == places.opens.tolist()
        assert {PIECES[number] for number in numpy.flatnonzero(columns)} == {"the", "story", "is", "."}

    def test_a_guarded_word_goes_on_where_it_stands_and_nowhere_else(self, places: CopyPlaces) -> None:
        name = self.at(places, "beet") & places.guarded
        columns, may = allowed(Under(name, True, True), places, vocabulary())
        assert not columns.any()
        assert pieces(places, may) == ["##les"]
        assert int(numpy.flatnonzero(may)[0]) == int(numpy.flatnonzero(name)[0]) + 1

    def test_a_guarded_word_that_is_whole_takes_no_ending(self, places: CopyPlaces) -> None:
        columns, may = allowed(Under(self.at(places, "##les"), True, True), places, vocabulary())
        assert "##s" not in {PIECES[number] for number in numpy.flatnonzero(columns)}
        assert may.tolist() == places.opens.tolist()

    def test_other_words_take_endings_of_the_vocabulary_and_of_their_own_place(self, places: CopyPlaces) -> None:
        plain = self.at(places, "beet") & ~places.guarded
        columns, may = allowed(Under(plain, False, True), places, vocabulary())
        assert "##s" in {PIECES[number] for number in numpy.flatnonzero(columns)}
        following = numpy.flatnonzero(may & places.follows)
        assert following.tolist() == [int(numpy.flatnonzero(plain)[0]) + 1]  # not ##les of the name
