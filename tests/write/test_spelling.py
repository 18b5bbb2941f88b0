"""Wordpieces back to text: copied characters stay as they are, the rest is joined by rule."""

from __future__ import annotations

import pytest

pytest.importorskip("tokenizers", reason="pieces come from tokenizers")

from hypothesis import given
from hypothesis import strategies as st

from train.letters import letters_tokenizer
from wherefrom.data.examples import whole
from wherefrom.types import Passage, Word, WordSource, joined
from wherefrom.write.spelling import Piece, spelled, spelled_with

TOKENIZER = letters_tokenizer()
QUESTION = "Who was Zoë O'Neill-García's teacher?"
PASSAGE = whole("p#0", "In 1998 Dr. Ana Müller taught Zoë O'Neill-García for $3.5 million (see “Notes”). The end.")


def copied(text: str, source: WordSource, passage: int | None, share: float = 1.0) -> list[Piece]:
    """Every piece of a text, copied from there."""
    encoding = TOKENIZER.encode(text, add_special_tokens=False)
    return [
        Piece(piece, source, passage, a, b, share)
        for piece, (a, b) in zip(encoding.tokens, encoding.offsets, strict=True)
    ]


def pieces_from(passage: Passage, wanted: str) -> list[Piece]:
    """The pieces of some words of the passage."""
    at = passage.text.index(wanted)
    pieces = copied(passage.text, "passage", 0)
    return [
        piece
        for piece in pieces
        if piece.start is not None and piece.end is not None and at <= piece.start and piece.end <= at + len(wanted)
    ]


def pieces_of_question(wanted: str) -> list[Piece]:
    at = QUESTION.index(wanted)
    pieces = copied(QUESTION, "question", None)
    return [piece for piece in pieces if at <= (piece.start or 0) and (piece.end or 0) <= at + len(wanted)]


def own(text: str) -> list[Piece]:
    """Pieces that a writer made up."""
    return [Piece(piece) for piece in TOKENIZER.encode(text, add_special_tokens=False).tokens]


def text_of(pieces: list[Piece], sentence: bool = False) -> str:
    return joined(spelled(pieces, QUESTION, [PASSAGE], sentence))


@given(st.text(min_size=1))
def test_a_text_copied_as_a_whole_keeps_every_character(text: str) -> None:
    pieces = [piece for piece in copied(text, "passage", 0) if piece.end != piece.start]
    spelling = spelled(pieces, "", [whole("p", text)])
    assert all(text[word.start : word.end] == word.text for word in spelling)
    if pieces:
        first, last = pieces[0].start or 0, pieces[-1].end or 0
        assert text[first:].startswith(joined(spelling))
        assert len(joined(spelling)) >= last - first - sum(character.isspace() for character in text[first:last])
        assert joined(spelling).startswith(text[first:last].rstrip())


@given(st.data())
def test_every_piece_belongs_to_a_word_and_words_come_in_their_order(data: st.DataObject) -> None:
    every = copied(PASSAGE.text, "passage", 0) + copied(QUESTION, "question", None) + own("the beetles look .")
    pieces = data.draw(st.lists(st.sampled_from(every), max_size=30))
    spelling = spelled_with(pieces, QUESTION, [PASSAGE])
    assert tuple(word for word, _ in spelling) == spelled(pieces, QUESTION, [PASSAGE])
    numbers = [number for _, pieces_of in spelling for number in pieces_of]
    assert numbers == sorted(numbers)
    left_out = set(range(len(pieces))) - set(numbers)
    assert all(pieces[number].text.startswith("[") for number in left_out)


def test_a_word_has_all_of_its_pieces() -> None:
    pieces = [*own("the"), *pieces_from(PASSAGE, "1998"), *own("look")]
    assert len(pieces) > 3
    spelling = [(word.text, numbers) for word, numbers in spelled_with(pieces, QUESTION, [PASSAGE])]
    assert spelling == [("the", (0,)), ("1998", tuple(range(1, len(pieces) - 1))), ("look", (len(pieces) - 1,))]


@given(st.data())
def test_copied_words_stand_at_their_places_whatever_is_written(data: st.DataObject) -> None:
    every = (
        copied(PASSAGE.text, "passage", 0, 0.7) + copied(QUESTION, "question", None, 0.6) + own("the beetles look .")
    )
    pieces = data.draw(st.lists(st.sampled_from(every), max_size=30))
    for sentence in (False, True):
        spelling = spelled(pieces, QUESTION, [PASSAGE], sentence)
        assert all(word.text for word in spelling)
        assert all(0.0 <= word.share <= 1.0 for word in spelling)
        assert all(not word.space.strip() for word in spelling)
        for word in spelling:
            source = PASSAGE.text if word.source == "passage" else QUESTION
            if word.source == "vocabulary":
                assert (word.passage_id, word.start, word.end) == (None, None, None)
            else:
                assert source[word.start : word.end].lower() == word.text.lower()
                assert (word.passage_id == "p#0") == (word.source == "passage")
        assert joined(spelling) == "".join(word.space + word.text for word in spelling)


def test_the_whole_passage_comes_back_exactly() -> None:
    assert text_of(copied(PASSAGE.text, "passage", 0)) == PASSAGE.text
    assert text_of(copied(PASSAGE.text, "passage", 0), sentence=True) == PASSAGE.text


def test_names_and_numbers_are_told_as_the_source_has_them() -> None:
    spelling = text_of(
        [*pieces_from(PASSAGE, "Ana Müller"), *own("was in"), *pieces_from(PASSAGE, "$3.5 million"), *own(".")]
    )
    assert spelling == "Ana Müller was in $3.5 million."


def test_words_from_several_places_are_joined_by_spaces() -> None:
    pieces = [
        *pieces_of_question("Zoë O'Neill-García's"),
        *pieces_of_question("teacher"),
        *own("was"),
        *pieces_from(PASSAGE, "Dr. Ana Müller"),
        *own("."),
    ]
    words = spelled(pieces, QUESTION, [PASSAGE], sentence=True)
    assert joined(words) == "Zoë O'Neill-García's teacher was Dr. Ana Müller."
    sources = [(word.text, word.source) for word in words]
    assert sources[0] == ("Zoë", "question")
    assert ("was", "vocabulary") in sources
    assert ("Müller", "passage") in sources
    (muller,) = [word for word in words if word.text == "Müller"]
    assert muller == Word("Müller", "passage", "p#0", 16, 22, 1.0, " ")


def test_a_sentence_begins_with_a_capital_and_a_copied_one_loses_it_inside() -> None:
    assert text_of(own("the town is old ."), sentence=True) == "The town is old."
    assert text_of(own("the town")) == "the town"
    assert text_of([*own("it was"), *pieces_from(PASSAGE, "In 1998"), *own(".")], sentence=True) == "It was in 1998."
    assert text_of([*own("it is ."), *pieces_from(PASSAGE, "In 1998")]) == "it is. In 1998"


def test_a_name_from_the_vocabulary_is_written_as_in_the_sources() -> None:
    assert text_of(own("muller was the teacher")) == "Müller was the teacher"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ("it ' s old .", "it's old."),
        ("the kings ' town", "the kings' town"),
        ("the ' old ' town", "the 'old' town"),
        ('a " red " town', 'a "red" town'),
        ("well - known , red", "well-known, red"),
        ("3 . 5 of 1 , 000 at 10 : 30", "3.5 of 1,000 at 10:30"),
        ("in 1990 , 300 people", "in 1990, 300 people"),
        ("the ( old ) town [ sic ]", "the (old) town [sic]"),
        ("$ 5 % of $ sign", "$5% of $ sign"),
        ("the u . s . king", "the u.s. king"),
        ("and / or", "and/or"),
        ("what ?", "what?"),
    ],
)
def test_marks_are_spaced_as_in_print(pieces: str, text: str) -> None:
    written = [Piece(piece) for piece in pieces.split()]
    assert joined(spelled(written, "", [])) == text


def test_a_path_keeps_the_space_before_it_and_a_choice_has_none() -> None:
    passage = whole("p#0", "It is in /etc/hosts and/or there - somewhere.")
    pieces = copied(passage.text, "passage", 0)
    of = {
        wanted: [
            p for p in pieces if (s := passage.text.index(wanted)) <= (p.start or 0) and (p.end or 0) <= s + len(wanted)
        ]
        for wanted in ("/etc/hosts", "and/or", "- somewhere")
    }
    assert joined(spelled([*own("found"), *of["/etc/hosts"]], QUESTION, [passage])) == "found /etc/hosts"
    apart = [*own("salt"), of["and/or"][len("and")], *own("pepper")]
    assert joined(spelled(apart, QUESTION, [passage])) == "salt/pepper"
    assert joined(spelled([*own("here"), *of["- somewhere"]], QUESTION, [passage])) == "here - somewhere"


def test_pieces_of_the_vocabulary_become_words() -> None:
    (word,) = spelled([Piece("beet", share=0.8), Piece("##les", share=0.4)], "", [])
    assert (word.text, word.source) == ("beetles", "vocabulary")
    assert word.share == pytest.approx(0.6)


def test_a_word_of_several_places_is_told_by_the_largest_share_that_spells_it() -> None:
    passage = whole("p", "Red Beetles look up.")
    (word,) = spelled([Piece("beet", share=0.3), Piece("##les", "passage", 0, 8, 11, 0.9)], "", [passage])
    assert word == Word("Beetles", "passage", "p", 4, 11, pytest.approx(0.45), "")
    # `looked` stands nowhere: what was copied does not spell it
    (word,) = spelled([Piece("look", "passage", 0, 12, 16, 0.9), Piece("##ed", share=0.5)], "", [passage])
    assert word == Word("looked", "vocabulary", share=pytest.approx(0.25))


def test_a_piece_copied_twice_is_written_twice() -> None:
    passage = whole("p", "red boat")
    red = Piece("red", "passage", 0, 0, 3)
    assert joined(spelled([red, red], "", [passage])) == "red red"


def test_special_and_placeless_pieces_do_no_harm() -> None:
    passage = whole("p", "red")
    lost = Piece("blue", "passage", 4, 0, 4)
    assert joined(spelled([Piece("[UNK]"), lost, Piece("red", "passage", 0, 2, 9)], "", [passage])) == "blue red"
    assert spelled([], "", []) == ()


def test_an_unknown_piece_that_was_copied_shows_its_characters() -> None:
    passage = whole("p", "the ☃ is old")
    spelling = spelled(copied(passage.text, "passage", 0)[:2], "", [passage])
    assert joined(spelling) == "the ☃"


def test_an_accent_set_loose_stays_with_its_letter() -> None:
    passage = whole("p", "Zoe\u0308 is old")
    assert joined(spelled(copied(passage.text, "passage", 0)[:3], "", [passage])) == "Zoe\u0308"


def test_scripts_without_spaces_get_none() -> None:
    assert joined(spelled([Piece("東"), Piece("京"), Piece("is"), Piece("old")], "", [])) == "東京 is old"
