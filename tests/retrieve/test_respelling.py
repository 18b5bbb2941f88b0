"""Misspelt questions are put in the library's words, and what is no slip is left as it was typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wherefrom.config import resolve
from wherefrom.library import Library
from wherefrom.types import Document, Question

PLAIN = ("rank.kind=none", "judge.kind=lexical", "write.kind=verbatim")
DOCUMENTS = [
    Document("names", "The maximum length of an identifier is 63 bytes. Longer identifiers are cut.", "Names"),
    Document(
        "server", "Zembrowski wrote pg_ctl, which starts the server. Its shared_buffers are in config/main.conf.", ""
    ),
    Document("trees", "An arborist looks after trees. Permanent staff are paid by the month.", "Trees"),
    *(
        Document(f"length-{n}", f"The length of pipe {n} is given in metres, as the buyer wants it.", "")
        for n in range(3)
    ),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with Library(tmp_path_factory.mktemp("respelling") / "library", resolve(overrides=PLAIN)) as made:
        made.put(DOCUMENTS)
        yield made


def respelt(library: Library, text: str) -> str:
    respell = library.pipeline().respell
    assert respell is not None
    return respell(Question("", text)).text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("maximim lenght of an idenfitier", "maximum length of an identifier"),
        ("What is the Maximun length?", "What is the Maximum length?"),
        ("who is zembrovski", "who is zembrowski"),  # a name that only the documents know
        ("what does an arborsit do", "what does an arborist do"),
    ],
)
def test_slips_are_mended_by_the_words_of_the_documents(library: Library, typed: str, meant: str) -> None:
    assert respelt(library, typed) == meant


@pytest.mark.parametrize(
    "text",
    [
        "What is the maximum length of an identifier?",
        "How do I cook spaghetti?",  # English, though no document has it
        "what are shared_bufers and pg_ctll and config/mian.conf",  # names in code are meant as they are
        "What is the PERMANET?",  # an abbreviation
        "who pays the staf",  # too short to tell
        "Is Permain the boss?",  # "perman" is what permanent is indexed as, and no word
        "",
    ],
)
def test_what_is_no_slip_is_left_alone(library: Library, text: str) -> None:
    assert library.pipeline().respell(Question("7", text)) == Question("7", text)  # type: ignore[misc]


def test_a_misspelt_question_is_answered_and_says_what_was_typed(library: Library) -> None:
    trace = library.search("maximim lenght of an idenfitier")
    assert trace.hits[0].passage.document_id == "names"
    assert trace.question.text == "maximum length of an identifier"
    assert trace.question.typed == "maximim lenght of an idenfitier"


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    settings = resolve(overrides=[*PLAIN, "retrieve.respell=false"])
    with Library(tmp_path / "library", settings) as library:
        library.put(DOCUMENTS)
        assert library.search("maximim lenght").question == Question("", "maximim lenght")


def test_an_empty_library_mends_nothing(tmp_path: Path) -> None:
    with Library(tmp_path / "library", resolve(overrides=PLAIN)) as library:
        library.make()
        assert library.search("maximim lenght").question.text == "maximim lenght"
