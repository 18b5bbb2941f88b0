"""The search in numpy: greedy and beam, never empty, nothing twice, every token with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy
import pytest

from runtime.letter_places import PIECES, text, vocabulary
from train.letters import MARKS
from wherefrom.errors import SettingsError
from wherefrom.runtime.copying import ANSWER, QUESTION, CopyPlaces, Text, Vocabulary, places_of
from wherefrom.runtime.search import Search, SearchSettings, WrittenAnswer, chosen

END = PIECES[MARKS.end]
SAFE = f"the story is . ##s {END}"


class Script:
    """A network that says what comes after which tokens: pieces of the vocabulary, and places as `place:N`."""

    def __init__(self, places: CopyPlaces, after: Callable[[Sequence[str]], Mapping[str, float]]) -> None:
        self._places, self._after = places, after
        self._written: list[list[str]] = [[]]
        self.steps = 0

    def __call__(self, tokens: numpy.ndarray, parents: numpy.ndarray | None) -> tuple[numpy.ndarray, numpy.ndarray]:
        if self.steps:
            before = self._written if parents is None else [self._written[parent] for parent in parents]
            pairs = zip(before, tokens, strict=True)
            self._written = [[*known, PIECES[token]] for known, token in pairs]
        self.steps += 1
        columns = numpy.zeros((len(tokens), len(PIECES)), numpy.float32)
        copied = numpy.zeros((len(tokens), len(self._places)), numpy.float32)
        for row, written in enumerate(self._written):
            for name, share in self._after(written).items():
                kind, _, number = name.partition(":")
                if number and kind == "place":
                    copied[row, int(number)] = share
                else:
                    columns[row, PIECES.index(name)] = share
        return columns, copied


def searched(
    places: CopyPlaces, after: Callable[[Sequence[str]], Mapping[str, float]], safe: str = SAFE, **settings: int
) -> list[WrittenAnswer]:
    given: Vocabulary = vocabulary(safe)
    return Search(places, given, MARKS.end, SearchSettings(**settings)).run(Script(places, after), MARKS.sentence)


def told(written: WrittenAnswer) -> list[str]:
    return [PIECES[copied.token] for copied in written.tokens]


def in_turn(*steps: Mapping[str, float]) -> Callable[[Sequence[str]], Mapping[str, float]]:
    return lambda written: steps[min(len(written), len(steps) - 1)]


NOTHING = places_of([], ())
KING = places_of([text("who", QUESTION, -1), text("old King of 31 beets")], ())
# places: 0 who, 1 old, 2 king, 3 of (o ##f or of), ...


def place(places: CopyPlaces, piece: str) -> int:
    return int(numpy.flatnonzero(places.tokens == PIECES.index(piece))[0])


def test_greedy_takes_the_best_token_until_the_end() -> None:
    (found,) = searched(NOTHING, in_turn({"the": 0.6, "story": 0.4}, {"story": 0.9}, {END: 0.8, "is": 0.2}))
    assert told(found) == ["the", "story"]
    assert found.ended
    assert found.score == pytest.approx((numpy.log(0.6) + numpy.log(0.9) + numpy.log(0.8)) / 3, abs=1e-6)


def test_the_vocabulary_and_the_places_of_a_token_add_up() -> None:
    at = place(KING, "old")
    (found,) = searched(KING, in_turn({"the": 0.4, f"place:{at}": 0.35, "old": 0.25}, {END: 1.0}), safe=f"{SAFE} old")
    assert told(found) == ["old"]  # 0.35 + 0.25
    assert found.tokens[0].place == at
    assert found.tokens[0].share == pytest.approx(0.35 / 0.6)
    assert found.vocabulary[0] == pytest.approx(0.25 / 0.6)
    assert found.vocabulary[0] + found.places[0].sum() == pytest.approx(1.0)


def test_a_beam_finds_what_greedy_misses() -> None:
    def after(written: Sequence[str]) -> Mapping[str, float]:
        if not written:
            return {"the": 0.6, "story": 0.4}
        return {END: 0.1, "is": 0.1} if written[0] == "the" and len(written) < 2 else {END: 1.0}

    greedy = searched(NOTHING, after)[0]
    best, *others = searched(NOTHING, after, beam=3)
    assert told(greedy)[0] == "the"
    assert told(best) == ["story"]
    assert [other.score for other in others] == sorted((other.score for other in others), reverse=True)
    assert others[0].score <= best.score


def test_a_wider_beam_than_there_are_answers() -> None:
    found = searched(NOTHING, in_turn({"the": 1.0}, {END: 1.0}), beam=5)
    assert [told(one) for one in found] == [["the"]]


def test_never_empty() -> None:
    (found,) = searched(NOTHING, in_turn({END: 0.99, "the": 0.01}, {END: 1.0}))
    assert told(found) == ["the"]


def test_cut_at_the_longest() -> None:
    (found,) = searched(NOTHING, in_turn({"the": 0.5, "story": 0.4}), max_tokens=3)
    assert len(found.tokens) == 3
    assert not found.ended


def test_four_tokens_in_a_row_do_not_come_twice() -> None:
    order = ["the", "story", "is", "."]
    (found,) = searched(NOTHING, lambda written: {order[len(written) % 4]: 0.9, END: 0.1})
    assert told(found) == ["the", "story", "is", ".", "the", "story", "is"]  # the next would be the fourth again
    (free,) = searched(NOTHING, lambda written: {order[len(written) % 4]: 0.9, END: 0.1}, block_ngrams=0, max_tokens=12)
    assert len(free.tokens) == 12


def test_repeats_are_let_in_where_nothing_else_is_left() -> None:
    (found,) = searched(NOTHING, lambda written: {"the": 1.0} if len(written) < 9 else {END: 1.0}, max_tokens=12)
    assert told(found) == ["the"] * 9


def test_no_token_twice_in_a_row_but_where_a_source_has_it_so() -> None:
    stammering = in_turn({"the": 1.0}, {"the": 0.9, "story": 0.1}, {END: 1.0})
    assert told(searched(NOTHING, stammering)[0]) == ["the", "story"]
    assert told(searched(NOTHING, stammering, echo=True)[0]) == ["the", "the"]
    places = places_of([text("king king sleeps")], ())
    (found,) = searched(places, in_turn({"place:0": 1.0}, {"place:1": 0.9, "the": 0.1}, {END: 1.0}))
    assert told(found) == ["king", "king"]


def test_where_every_step_looked_is_kept_if_asked_for() -> None:
    """Before a word is chosen: `king` has its weight though `old` is written, and `##1`, which may not begin a word."""
    old, king, one = place(KING, "old"), place(KING, "king"), place(KING, "##1")
    steps = in_turn({f"place:{old}": 0.6, f"place:{king}": 0.2, f"place:{one}": 0.1, "the": 0.1}, {END: 1.0})
    (plain,) = searched(KING, steps)
    (kept,) = searched(KING, steps, looking=True)
    assert plain.looked is None
    assert kept.looked is not None
    assert kept.looked.shape == (1, len(KING))
    assert kept.looked[0, [old, king, one]].tolist() == pytest.approx([0.6, 0.2, 0.1])
    assert kept.tokens == plain.tokens
    assert kept.places.tolist() == plain.places.tolist()


def test_each_answer_of_a_beam_keeps_its_own_looks() -> None:
    old, king = place(KING, "old"), place(KING, "king")

    def after(written: Sequence[str]) -> Mapping[str, float]:
        if not written:
            return {"the": 0.6, "story": 0.4}
        if len(written) == 1:
            return {f"place:{old if written == ['the'] else king}": 0.9}
        return {END: 1.0}

    for found in searched(KING, after, beam=2, looking=True):
        assert found.looked is not None
        at = old if told(found)[0] == "the" else king
        assert numpy.flatnonzero(found.looked[1]).tolist() == [at]


class TestKeepsToTheSources:
    def test_digits_and_unsafe_words_never_come_from_the_vocabulary(self) -> None:
        (found,) = searched(KING, in_turn({"3": 0.5, "dragon": 0.4, "the": 0.1}, {END: 1.0}))
        assert told(found) == ["the"]

    def test_a_number_is_copied_to_its_last_digit(self) -> None:
        three = place(KING, "3")
        (found,) = searched(KING, in_turn({f"place:{three}": 0.9}, {END: 0.99}, {END: 1.0}))
        assert told(found) == ["3", "##1"]
        assert [copied.place for copied in found.tokens] == [three, three + 1]

    def test_a_number_is_not_put_together_from_two(self) -> None:
        places = places_of([text("31 beets, 29 kings")], ())
        three, nine = place(places, "3"), place(places, "##9")
        (found,) = searched(places, in_turn({f"place:{three}": 1.0}, {f"place:{nine}": 0.9, END: 0.1}, {END: 1.0}))
        assert told(found) == ["3", "##1"]

    def test_of_two_numbers_that_begin_alike_the_network_decides_where_they_part(self) -> None:
        places = places_of([text("31 beets"), text("35 kings", passage=1)], ())
        first, second = numpy.flatnonzero(places.tokens == PIECES.index("3"))
        ends = {f"place:{second + 1}": 0.6, f"place:{first + 1}": 0.3}
        (found,) = searched(places, in_turn({f"place:{first}": 0.6, f"place:{second}": 0.4}, ends, {END: 1.0}))
        assert told(found) == ["3", "##5"]
        assert [copied.place for copied in found.tokens] == [second, second + 1]  # both of the one that it became
        assert found.tokens[0].share == pytest.approx(0.4)

    def test_a_whole_number_may_end_where_a_longer_one_goes_on(self) -> None:
        places = places_of([text("31 beets, 310 kings")], ())
        short, long = numpy.flatnonzero(places.tokens == PIECES.index("3"))
        steps = ({f"place:{long}": 0.6, f"place:{short}": 0.4}, {f"place:{long + 1}": 0.6, f"place:{short + 1}": 0.4})
        (found,) = searched(places, in_turn(*steps, {END: 0.9}))
        assert told(found) == ["3", "##1"]
        assert [copied.place for copied in found.tokens] == [short, short + 1]  # that is where it is whole

    def test_a_name_is_copied_whole_and_takes_no_ending(self) -> None:
        places = places_of([text("the Beetles look")], ())
        name = place(places, "beet")
        (found,) = searched(places, in_turn({f"place:{name}": 1.0}, {"##s": 0.9, END: 0.1}, {"##s": 0.8, END: 0.2}))
        assert told(found) == ["beet", "##les"]

    def test_what_a_rule_demands_is_written_though_the_network_gives_it_nothing(self) -> None:
        three = place(KING, "3")
        (found,) = searched(KING, in_turn({f"place:{three}": 1.0}, {"the": 1.0}, {END: 1.0}))
        assert told(found) == ["3", "##1"]
        assert found.vocabulary[1] + found.places[1].sum() == pytest.approx(1.0)

    def test_a_word_in_small_letters_may_take_an_ending(self) -> None:
        beet = place(KING, "beet")
        (found,) = searched(KING, in_turn({f"place:{beet}": 1.0}, {"##s": 0.9, END: 0.1}, {END: 1.0}))
        assert told(found) == ["beet", "##s"]

    def test_a_piece_is_not_copied_out_of_the_middle_of_another_word(self) -> None:
        places = places_of([text("king beetles")], ())
        steps = in_turn({f"place:{place(places, 'king')}": 1.0}, {f"place:{place(places, '##les')}": 0.9, END: 0.1})
        (found,) = searched(places, steps)
        assert told(found) == ["king"]


def test_the_answers_characters_are_the_passages() -> None:
    passage = text("the red king")
    answer = Text(ANSWER, 0, "    red king", passage.tokens[1:], passage.offsets[1:])
    places = places_of([answer, passage], ())
    (found,) = searched(places, in_turn({"place:0": 0.5, "place:3": 0.3, "the": 0.2}, {END: 1.0}))
    assert told(found) == ["red"]
    (copied,) = found.tokens
    assert copied.share == pytest.approx(1.0)  # both are the same characters
    assert copied.place is not None
    assert (places.start[copied.place], places.end[copied.place]) == (4, 7)


def test_is_told_what_is_written_so_far() -> None:
    heard: list[list[str]] = []
    search = Search(NOTHING, vocabulary(SAFE), MARKS.end, SearchSettings())
    script = Script(NOTHING, in_turn({"the": 1.0}, {"story": 1.0}, {END: 1.0}))
    search.run(script, MARKS.sentence, lambda written: heard.append(told(written)))
    assert heard == [["the"], ["the", "story"]]


class TestChosen:
    def written(self, tokens: int, score: float, ended: bool = True) -> WrittenAnswer:
        nothing = numpy.zeros(0, numpy.float32)
        one = searched(NOTHING, in_turn({"the": 1.0}, {END: 1.0}))[0].tokens[0]
        return WrittenAnswer((one,) * tokens, score, ended, nothing, nothing)

    def test_the_likeliest_where_there_is_hardly_an_answer(self) -> None:
        short, long = self.written(2, -0.1), self.written(5, -0.3)
        assert chosen([long, short], 0.3, SearchSettings()) == [short, long]

    def test_the_longest_good_one_where_there_is(self) -> None:
        short, long, far = self.written(2, -0.1), self.written(5, -0.3), self.written(9, -0.7)
        assert chosen([short, long, far], 0.31, SearchSettings()) == [long, short, far]

    def test_one_that_was_cut_only_if_none_ended(self) -> None:
        cut, ended = self.written(9, -0.1, ended=False), self.written(2, -0.2)
        assert chosen([cut, ended], 0.9, SearchSettings()) == [ended, cut]
        assert chosen([cut], 0.9, SearchSettings()) == [cut]


def test_settings_that_make_no_sense_are_named() -> None:
    with pytest.raises(SettingsError, match="beam is 0"):
        SearchSettings(beam=0)
