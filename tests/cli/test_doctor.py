"""`wherefrom doctor`: what it looks at, what it calls wrong, and what it says to do about it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from wherefrom import Library
from wherefrom.runtime.weights import SHIPPED
from wherefrom.types import Document


def doctor(library: Path, *arguments: str, **environment: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code and the findings, by what they are about."""
    command = [sys.executable, "-m", "wherefrom", "--library", str(library), "doctor", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    told: dict[str, list[dict[str, Any]]] = {}
    for finding in json.loads(done.stdout)["findings"]:
        told.setdefault(finding["about"], []).append(finding)
    return done.returncode, told


def test_all_is_looked_at_and_what_could_be_better_has_a_remedy(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.put([Document("a", "The boiler hums."), Document("b", "Gone.", source=str(tmp_path / "gone.txt"))])
    code, about = doctor(tmp_path / "library")
    assert code == 0
    assert {"version", "packages", "networks", "speed", "library", "disk"} <= about.keys()
    assert any("wherefrom 0" in finding["what"] for finding in about["version"])
    assert {finding["what"].partition(":")[0] for finding in about["networks"]} == {
        "reader", "writer", "tagger", "fluency", "yes-no", "matcher", "followup", "selector",
    }  # fmt: skip
    assert "2 documents in 2 passages" in about["library"][0]["what"]
    (lost,) = (finding for finding in about["library"] if "gone" in finding["what"])
    assert (lost["state"], lost["what"]) == ("note", "the files of 1 documents are gone")
    assert lost["remedy"].startswith("wherefrom remove --gone")
    assert about["speed"][0]["what"].startswith("a short answer from 12 passages takes ")
    assert all(finding["remedy"] for findings in about.values() for finding in findings if finding["state"] == "note")


def test_changed_weights_are_wrong_and_so_is_a_damaged_library(tmp_path: Path) -> None:
    weights = Path(shutil.copytree(SHIPPED / "matcher", tmp_path / "matcher"))
    file = next(path for path in sorted(weights.iterdir()) if path.suffix == ".npz")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    code, about = doctor(tmp_path / "none", "--set", f"runtime.matcher={weights}")
    assert code == 1
    wrong = [finding for finding in about["networks"] if finding["state"] == "wrong"]
    assert len(wrong) == 1
    assert "its SHA-256 differs" in wrong[0]["what"]
    assert "speed" not in about
    assert (about["library"][0]["state"], about["library"][0]["remedy"]) == ("note", "wherefrom ingest FOLDER makes it")

    with Library(tmp_path / "library") as library:
        library.put([Document("a", "The boiler hums.")])
    (tmp_path / "library" / "documents.sqlite").write_bytes(b"no database at all" * 100)
    code, about = doctor(tmp_path / "library")
    assert code == 1
    assert [finding["state"] for finding in about["library"]] == ["wrong"]
