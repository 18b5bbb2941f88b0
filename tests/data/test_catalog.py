"""The list of datasets."""

from __future__ import annotations

from pathlib import Path

import pytest
from dataset_checks import json_lines

from wherefrom.data import catalog
from wherefrom.data.faults import DatasetError
from wherefrom.errors import SettingsError


@pytest.mark.parametrize("name", catalog.DATASETS)
def test_every_dataset_says_what_it_is_and_what_it_misses(name: str, tmp_path: Path) -> None:
    dataset = catalog.dataset(name)
    assert dataset.family in catalog.FAMILIES
    assert dataset.about
    assert "\n" not in dataset.about
    for split in dataset.splits:
        with pytest.raises(DatasetError, match="holds no"):
            catalog.load(name, tmp_path, split)
        with pytest.raises(DatasetError, match="nowhere"):
            catalog.load(name, tmp_path / "nowhere", split)
    with pytest.raises(SettingsError, match="split knows no 'nonsense'"):
        catalog.load(name, tmp_path, "nonsense")


def test_unknown_names_are_suggested(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="dataset knows no 'sqaud'; did you mean squad"):
        catalog.dataset("sqaud")
    with pytest.raises(SettingsError, match="trecqa option knows no 'cleen'; did you mean clean"):
        catalog.load("trecqa", tmp_path, "dev", cleen=True)


def test_options_reach_the_loader(tmp_path: Path) -> None:
    one_sided = {"question": "Who?", "candidates": [{"sentence": "Ada.", "label": 1}]}
    json_lines(tmp_path / "dev.jsonl", [one_sided])
    assert catalog.dataset("trecqa").options == ("clean", "max_words", "detokenize")
    assert len(list(catalog.load("trecqa", tmp_path, "dev"))) == 1
    assert not list(catalog.load("trecqa", tmp_path, "dev", clean=True))
