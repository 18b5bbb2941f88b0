"""Making a reader skim, from its weights to a folder that answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="a tiny network is made with torch: pip install 'wherefrom[train]'")

from systems.making import Listening, TinyReader
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import SettingsError
from wherefrom.origin import file_hash
from wherefrom.runtime.reader import FIRST, MODEL, ReaderSession
from wherefrom.runtime.weights import Weights
from wherefrom.systems.skim.about import ABOUT, Inputs
from wherefrom.systems.skim.system import SkimSettings, stages
from wherefrom.train.stages import read_json, run
from wherefrom.types import Document

SETTINGS = SkimSettings(layers=1, share=0.5, least=1, tokens=1, questions=6)


def make(inputs: Inputs, out: Path) -> Listening:
    say = Listening()
    run("skim", stages(SETTINGS, inputs, out, say), out, None, say)
    return say


@pytest.fixture
def whole(tiny_reader_weights: Path, tmp_path: Path) -> Path:
    """A reader of two layers, and where it comes from."""
    folder = shutil.copytree(tiny_reader_weights, tmp_path / "whole")
    files = {file.name: file_hash(file) for file in folder.iterdir()}
    provenance = {"model": "reader", "files": files, "stages": {"student": {"facts": {"steps": 2}}}}
    (folder / "provenance.json").write_text(json.dumps(provenance))
    return folder


def test_a_made_reader_skims_and_keeps_its_provenance(whole: Path, tiny_reader: TinyReader, tmp_path: Path) -> None:
    before, inputs = read_json(whole / "provenance.json"), Inputs(whole, tiny_reader.inputs.data)
    said = make(inputs, tmp_path / "out")
    assert any(line.startswith("skim: the most relevant passage is among the best 1 of") for line in said)
    folder = tmp_path / "out" / "weights"
    provenance = read_json(folder / "provenance.json")
    assert provenance["model"] == "reader"
    assert provenance["stages"].keys() == {"student", *ABOUT.stages}
    assert provenance["stages"]["student"] == before["stages"]["student"]
    assert provenance["files"] == {name: file_hash(folder / name) for name in provenance["files"]}
    assert {FIRST, MODEL} <= provenance["files"].keys()
    assert provenance["files"][MODEL] != before["files"][MODEL]
    assert make(inputs, tmp_path / "out") == [f"{stage}: already made" for stage in ABOUT.stages]

    texts = [f"The boat number {number} is kept in yard {number}." for number in range(8)]
    library = Library(tmp_path / "library", resolve(None, [f"runtime.reader={folder}", "retrieve.k=8"]))
    library.put([Document(f"yard-{number}", text, "") for number, text in enumerate(texts)])
    trace = library.ask("Which boat is kept in yard 3?", min_chance=0.0)
    hits = [hit.passage for hit in trace.hits]
    (readings,) = ReaderSession(Weights(folder), 1).read([trace.question.text], [hits])
    deep = {hit.id for hit, reading in zip(hits, readings, strict=True) if len(reading.start)}
    assert len(deep) == 4
    assert {candidate.passage.id for candidate in trace.candidates} <= deep


@pytest.mark.parametrize("wrong", [{"layers": 0}, {"share": 0.0}, {"share": 1.5}, {"ridge": 0.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match="must be above 0"):
        SkimSettings(**wrong)  # type: ignore[arg-type]
