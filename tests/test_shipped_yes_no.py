"""What decides between Yes and No, as it comes with wherefrom: its files, and what it makes of a library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import SettingsError
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.types import Document, joined

FOLDER = SHIPPED / "yes-no"
DOCUMENTS = [
    Document(
        "mill", "The mill at Orrin stands by the river. It is open to visitors from May. Dogs are not allowed inside."
    ),
    Document("ferry", "The ferry to Skerry sails twice a day. Bicycles travel free of charge."),
]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library")
    library.put(DOCUMENTS)
    return library


def made_of(provenance: dict[str, Any]) -> dict[str, Any]:
    """What the line was fitted on; weights made before there were systems have it at the top."""
    made: dict[str, Any] = provenance["stages"]["fit"]["made_of"] if "stages" in provenance else provenance
    return made


def test_the_files_are_those_that_were_made() -> None:
    provenance = msgspec.json.decode((FOLDER / "provenance.json").read_bytes())
    assert {name: file_hash(FOLDER / name) for name in provenance["files"]} == provenance["files"]
    reader = msgspec.json.decode((SHIPPED / "reader" / "provenance.json").read_bytes())
    whole = reader["stages"]["material"]["made_of"]["model"]  # before it was cut in two; either says the same
    assert made_of(provenance)["reader"]["model.onnx"] in (whole, reader["files"]["model.onnx"])
    content = b"".join(file.read_bytes() for file in FOLDER.iterdir())
    assert len(content) < 20_000
    assert not re.search(rb"/(home|root|tmp|usr|opt|var|work)/|site-packages", content)


def test_it_was_better_than_always_yes_on_questions_it_had_not_seen() -> None:
    provenance = msgspec.json.decode((FOLDER / "provenance.json").read_bytes())
    facts = provenance["stages"]["fit"]["facts"] if "stages" in provenance else provenance
    measured = facts["left out"]["all"]
    assert measured["interval"][0] > measured["always yes"]
    assert measured["p"] < 0.05
    elsewhere = facts["fitted on squad/train alone"][
        "all"
    ]  # 237 questions: too few for a sure difference of six points
    assert elsewhere["accuracy"] > elsewhere["always yes"]
    for source, measured in facts.get("truth", {}).get("measured", {}).items():
        assert measured["interval"][0] > measured["always yes"] or measured["questions"] < 100, source


@pytest.mark.parametrize(
    ("question", "text", "rests_on"),
    [
        ("Are dogs allowed inside the mill?", "No", "not"),
        ("Is the mill at Orrin open to visitors?", "Yes", "open"),
        ("Do bicycles travel free of charge?", "Yes", "free"),
    ],
)
def test_a_library_says_yes_or_no_and_what_it_rests_on(
    library: Library, question: str, text: str, rests_on: str
) -> None:
    answer = library.ask(question, "short", min_chance=0.0).answer
    assert answer is not None
    assert answer.text == text
    assert rests_on in joined(answer.rests_on)
    (passage,) = answer.evidence
    assert all(passage.text[word.start : word.end] == word.text for word in answer.rests_on)
    sentence = library.ask(question, "sentence", min_chance=0.0).answer
    assert sentence is not None
    assert sentence.text is not None
    assert sentence.text.startswith(f"{text}: ")


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", resolve(overrides=["write.yes_no=false"]))
    library.put(DOCUMENTS)
    answer = library.ask("Are dogs allowed inside the mill?", "short", min_chance=0.0).answer
    assert answer is not None
    assert answer.text is not None
    assert answer.text in DOCUMENTS[0].text
    assert FOLDER not in library.pipeline().weights


def test_a_certainty_below_a_half_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"write\.sure is a probability from 0\.5 to 1, or 0, not 0\.3"):
        resolve(overrides=["write.sure=0.3"])
