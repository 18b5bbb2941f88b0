"""The light tagger: its arithmetic by hand, its memory, and what the shipped weights say."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import msgspec
import numpy
import pytest

from wherefrom.features import tags
from wherefrom.features.tags import FILE, NER, POS, Tagger, TaggerError, glued_to_former, shape, word_rows
from wherefrom.features.tokens import tokens
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED, Weights, WeightsError

FOLDER = SHIPPED / "tagger"
ROWS_OF_PARIS = [19326, 19471, 12634, 18552, 4178, 7904]
TEXTS = [
    "Barack Obama was born in Honolulu, Hawaii, on August 4, 1961.",
    "",
    "Who founded Microsoft in 1975?",
    "灯台は高い — ¿qué? 🚢",
    "  ",
]


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(Weights.named("tagger"))


def tagged(tagger: Tagger, text: str) -> list[tuple[str, str, str]]:
    (tagged,) = tagger.tag([text])
    return [
        (text[start:end], POS[pos], NER[ner])
        for (start, end), pos, ner in zip(tagged.spans, tagged.pos, tagged.ner, strict=True)
    ]


def test_the_tags_are_those_of_spacy() -> None:
    assert len(set(POS)) == len(POS) == 18
    assert len(set(NER)) == len(NER) == 19
    assert NER[0] == "O"


def test_knows_people_places_dates_and_parts_of_speech(tagger: Tagger) -> None:
    tags = {word: (pos, ner) for word, pos, ner in tagged(tagger, TEXTS[0])}
    assert tags["Obama"] == ("PROPN", "PERSON")
    assert tags["Honolulu"] == ("PROPN", "GPE")
    assert tags["1961"] == ("NUM", "DATE")
    assert tags["born"] == ("VERB", "O")
    assert tags["in"] == ("ADP", "O")
    assert tags[","][0] == "PUNCT"


def test_the_same_word_is_tagged_by_its_neighbours(tagger: Tagger) -> None:
    noun = {word: pos for word, pos, _ in tagged(tagger, "They made a record of the sale.")}["record"]
    verb = {word: pos for word, pos, _ in tagged(tagger, "They will record the song.")}["record"]
    assert (noun, verb) == ("NOUN", "VERB")


def test_a_batch_equals_one_by_one_and_tokens_are_ours(tagger: Tagger) -> None:
    together = tagger.tag(TEXTS)
    assert tagger.tag([]) == []
    for text, tagged in zip(TEXTS, together, strict=True):
        (alone,) = tagger.tag([text])
        assert tagged.spans == alone.spans == tokens(text)
        assert tagged.pos.tolist() == alone.pos.tolist()
        assert tagged.ner.tolist() == alone.ner.tolist()
        assert tagged.pos.dtype == tagged.ner.dtype == numpy.uint8
        assert tagged.pos.shape == tagged.ner.shape == (len(tagged.spans),)


def test_a_long_text_is_cut_where_it_cannot_be_seen(tagger: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(TEXTS) * 20
    (whole,) = tagger.tag([text])
    monkeypatch.setattr(tags, "_CHUNK", 13)
    (pieces,) = tagger.tag([text])
    assert pieces.pos.tolist() == whole.pos.tolist()
    assert pieces.ner.tolist() == whole.ner.tolist()


def test_words_are_forgotten_when_there_are_too_many(tagger: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tagged(tagger, TEXTS[0])
    monkeypatch.setattr(tags, "_MOST_WORDS", 3)
    for number in range(20):
        tagged(tagger, f"word{number} and Honolulu")
        assert len(tagger._vocabulary._numbers) < 10
    assert tagged(tagger, TEXTS[0]) == before


def test_threads_share_a_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags, "_MOST_WORDS", 30)
    tagger = Tagger(Weights.named("tagger"))
    texts = [f"Person{number} met Ana in Rome on May {number % 28 + 1}, and left." for number in range(200)]
    expected = [tagged(tagger, text) for text in texts]
    wrong: list[str] = []

    def check() -> None:
        wrong.extend(text for text, gold in zip(texts, expected, strict=True) if tagged(tagger, text) != gold)

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_shapes_and_gaps() -> None:
    assert shape("Paris1900s") == "Xxxxxddddx"
    assert shape("McDonaldsCorporation") == "XxXxxxxXxxxx"
    assert glued_to_former(tokens("don't go")) == [False, True, True, False]


def test_rows_of_a_word_are_the_same_everywhere() -> None:
    """Worked out once and written down: another hash would make the shipped table meaningless."""
    assert word_rows("Paris", 32_768) == ROWS_OF_PARIS
    assert word_rows("paris", 32_768)[:2] == ROWS_OF_PARIS[:2], "a word's own rows do not depend on capitals"


def test_the_sum_is_the_one_written_down_in_the_module(tmp_path: Path) -> None:
    """A network of width 2 with one layer, worked out by hand for one token."""
    width = 2
    table = numpy.zeros((8, width), numpy.int8)
    table[:] = (1, -1)
    zeros = {"pos.weight": numpy.zeros((width, len(POS))), "ner.weight": numpy.zeros((width, len(NER)))}
    arrays = {
        "table": table,
        "table_scale": numpy.ones(8),
        "glued": numpy.zeros(width),
        "first.weight": numpy.ones(width),
        "mix.0.weight": numpy.zeros((3 * width, width)),
        "mix.0.bias": numpy.array([0.0, 5.0]),
        "norm.0.weight": numpy.ones(width),
        **zeros,
        "pos.bias": numpy.zeros(len(POS)),
        "ner.bias": numpy.zeros(len(NER)),
    }
    # six rows of (1, -1) are normed to (1, -1); the layer adds (0, 5): (1, 4) is normed to (-1, 1)
    arrays["pos.weight"][1, 7] = 1.0  # the second number speaks for NOUN
    arrays["ner.weight"][0, 5] = -1.0  # the first, being negative, for GPE
    numpy.savez(tmp_path / FILE, **arrays)
    assert tagged(Tagger(Weights(tmp_path)), "word") == [("word", "NOUN", "GPE")]


def test_weights_that_are_missing_or_broken_are_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="is missing"):
        Tagger(Weights(tmp_path)).tag(["word"])
    (tmp_path / FILE).write_bytes(b"PK\x03\x04 and then nothing of use")
    with pytest.raises(TaggerError, match=r"tagger\.npz cannot be read .*; install wherefrom again"):
        Tagger(Weights(tmp_path)).tag(["word"])


def test_the_files_are_those_that_were_measured() -> None:
    provenance = msgspec.json.decode((FOLDER / "provenance.json").read_bytes())
    assert {name: file_hash(FOLDER / name) for name in provenance["files"]} == provenance["files"]
    assert (FOLDER / FILE).stat().st_size < 4e6
    told_of = b"".join(file.read_bytes() for file in FOLDER.iterdir() if file.name != FILE)
    assert not re.search(rb"/(home|root|tmp|usr|opt|var|work)/|site-packages", told_of)
    settings = Weights(FOLDER).settings
    assert (tuple(settings["pos"]), tuple(settings["ner"])) == (POS, NER)
