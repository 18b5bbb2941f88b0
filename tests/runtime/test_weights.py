"""Weights are used only as they were made: every byte of every file is looked at before it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from wherefrom.features.matching import Matcher
from wherefrom.origin import file_hash
from wherefrom.runtime import weights
from wherefrom.runtime.weights import PROVENANCE, SHIPPED, Weights, WeightsError

FOLDERS = sorted(folder for folder in SHIPPED.iterdir() if folder.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_provenance_of_shipped_weights_names_every_file(folder: Path) -> None:
    noted = json.loads((folder / PROVENANCE).read_text())["files"]
    assert noted == {file.name: file_hash(file) for file in folder.iterdir() if file.name != PROVENANCE}


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that an installation's weights lie in, with a few of them."""
    folder = tmp_path / "site-packages" / "wherefrom" / "weights"
    for name in ("matcher", "yes-no"):
        shutil.copytree(SHIPPED / name, folder / name)
    (folder / "reader").mkdir()
    for name in ("tokenizer.json", "settings.toml", "judge.json", PROVENANCE):
        shutil.copy2(SHIPPED / "reader" / name, folder / "reader" / name)
    monkeypatch.setattr(weights, "SHIPPED", folder)
    return folder


def flip(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("name", ["settings.toml", "judge.json", "tokenizer.json"])
@pytest.mark.parametrize("place", [0, 90, -1])
def test_a_changed_bit_is_named_with_its_remedy(shipped: Path, name: str, place: int) -> None:
    reader = Weights(shipped / "reader")
    assert reader.file(name).exists()
    flip(shipped / "reader" / name, place)
    with pytest.raises(WeightsError, match=r"differs from provenance\.json's; install wherefrom again") as raised:
        reader.file(name)
    assert str(shipped / "reader" / name) in str(raised.value)


def test_no_reader_of_a_file_passes_the_check_by(shipped: Path) -> None:
    for name in ("settings.toml", "judge.json", "tokenizer.json"):
        flip(shipped / "reader" / name, 40)
    flip(shipped / "matcher" / "matcher.npz", 3_000_000)
    reader = Weights(shipped / "reader")
    with pytest.raises(WeightsError, match="is not the file that was made"):
        _ = reader.settings
    with pytest.raises(WeightsError, match="is not the file that was made"):
        reader.json("judge.json")
    with pytest.raises(WeightsError, match="is not the file that was made"):
        _ = Weights(shipped / "matcher").tokenizer  # the reader's
    with pytest.raises(WeightsError, match="is not the file that was made"):
        _ = Matcher(Weights(shipped / "matcher"))._tables


def test_a_file_that_nothing_vouches_for_is_refused_where_we_ship_it(shipped: Path) -> None:
    (shipped / "yes-no" / "more.json").write_text("{}")
    with pytest.raises(WeightsError, match=r"more\.json is not named in .*; install wherefrom again"):
        Weights(shipped / "yes-no").json("more.json")
    (shipped / "yes-no" / PROVENANCE).unlink()
    with pytest.raises(WeightsError, match=r"truth\.json is not named"):
        Weights(shipped / "yes-no").json("truth.json")


def test_a_broken_provenance_is_named(shipped: Path) -> None:
    (shipped / "yes-no" / PROVENANCE).write_bytes(b"{")
    with pytest.raises(WeightsError, match=r"provenance\.json cannot be read .*; install wherefrom again"):
        Weights(shipped / "yes-no").json("truth.json")


def test_weights_of_ones_own_are_held_to_their_provenance(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "yes-no", tmp_path / "own")
    own = Weights(tmp_path / "own")
    assert own.json("truth.json")
    (tmp_path / "own" / "truth.json").write_text("{}")
    with pytest.raises(WeightsError, match="copy it anew from where it was made, or train it again"):
        own.json("truth.json")
    (tmp_path / "own" / "beside.json").write_text("{}")
    assert own.json("beside.json") == {}  # nothing is said of it
    (tmp_path / "own" / PROVENANCE).unlink()
    assert own.json("truth.json") == {}


def test_weights_of_ones_own_take_the_shipped_readers_tokenizer(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "matcher", tmp_path / "made" / "weights")
    own = Weights(tmp_path / "made" / "weights")
    assert own.tokenizer.ids("boats sail") == Weights(SHIPPED / "reader").tokenizer.ids("boats sail")
    (tmp_path / "made" / "reader").mkdir()
    (tmp_path / "made" / "reader" / "tokenizer.json").write_text("{}")  # one that lies beside them goes first
    with pytest.raises(WeightsError, match="cannot be read"):
        _ = Weights(tmp_path / "made" / "weights").tokenizer


def test_networks_that_share_a_tokenizer_share_its_memory(tmp_path: Path) -> None:
    tokenizer = Weights(SHIPPED / "reader").tokenizer
    assert Weights(SHIPPED / "matcher").tokenizer is tokenizer
    assert Weights(SHIPPED / "reader").tokenizer is tokenizer
    shutil.copy(SHIPPED / "reader" / "tokenizer.json", tmp_path)
    (tmp_path / "settings.toml").write_text("")
    assert Weights(tmp_path).tokenizer is not tokenizer


def test_a_file_is_read_once_a_process_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "yes-no", tmp_path / "own")
    read: list[Path] = []
    monkeypatch.setattr(weights, "file_hash", lambda path: read.append(path) or file_hash(path))
    for _ in range(3):
        assert Weights(tmp_path / "own").json("truth.json")
    assert read == [tmp_path / "own" / "truth.json"]
