"""The real datasets, where WHEREFROM_DATA names their folder: their counts are those that their sources state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dataset_checks import sound

from wherefrom.data import catalog, qa2d

NONE: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("name", "split", "options", "examples", "passages"),
    [
        ("squad", "train", NONE, 79_232, 79_232),
        ("squad", "valid", NONE, 8_367, 8_367),
        ("narrativeqa", "train", NONE, 5_837, 5_837),
        ("narrativeqa", "valid", NONE, 3_461, 3_461),
        ("qa2d", "train", NONE, 8_544, 0),
        ("qa2d", "valid", NONE, 800, 0),
        ("vanilla", "train", NONE, 6_850, 0),
        ("vquanda", "train", NONE, 4_000, 0),
        ("paraqa", "train", NONE, 4_000, 0),
        ("quoref", "train", NONE, 6_500, 6_500),
        ("drop", "train", NONE, 6_500, 6_500),
        ("ropes", "train", NONE, 6_500, 13_000),
        ("multirc", "train", NONE, 3_623, 3_623),
        ("nqopen", "train", NONE, 1_655, 1_655),
        ("msmarco", "sample", NONE, 200, 1_629),
        ("trecqa", "train-all", NONE, 1_229, 53_417),
        ("trecqa", "train", NONE, 94, 5_919),
        ("trecqa", "dev", NONE, 82, 1_364),
        ("trecqa", "dev", {"max_words": 40}, 82, 1_148),  # as cete Table 3.1 counts
        ("trecqa", "dev", {"max_words": 40, "clean": True}, 65, 1_117),
        ("wikiqa", "train", NONE, 2_118, 20_360),
        ("wikiqa", "train", {"clean": True}, 873, 8_672),
        ("wikiqa", "dev", NONE, 296, 2_733),
        ("semeval2015", "valid", NONE, 300, 1_645),
        ("semeval2016", "valid", NONE, 244, 2_440),
        ("semeval2017", "valid", NONE, 244, 2_440),
        ("debatepedia", "valid", NONE, 719, 719),
        ("xsum", "sample", NONE, 1_001, 1_001),
        ("squality", "train", NONE, 250, 250),
        ("curatedtrec", "train", NONE, 430, 0),
    ],
)
def test_counts(
    data_folder: Path, name: str, split: str, options: dict[str, Any], examples: int, passages: int
) -> None:
    folder = data_folder / catalog.dataset(name).folder
    loaded = sound(lambda: catalog.load(name, folder, split, **options))
    assert (len(loaded), sum(len(example.passages) for example in loaded)) == (examples, passages)


@pytest.mark.parametrize(
    ("name", "split", "articles"),
    [
        ("squad", "train", 400),
        ("squad", "valid", 42),
        ("narrativeqa", "train", 195),
        ("narrativeqa", "valid", 115),
        ("qmsum", "train", 162),
        ("qmsum", "val", 35),
    ],
)
def test_articles(data_folder: Path, name: str, split: str, articles: int) -> None:
    loaded = catalog.load(name, data_folder / catalog.dataset(name).folder, split)
    assert len({example.article for example in loaded}) == articles


def test_filtered_trecqa_is_what_cleaning_gives(data_folder: Path) -> None:
    clean = list(catalog.load("trecqa", data_folder / "trecqa", "dev", clean=True))
    filtered = list(catalog.load("trecqa", data_folder / "trecqa" / "dev-filtered.jsonl.xz", "dev"))
    assert [one.question.text for one in clean] == [one.question.text for one in filtered]
    assert [one.relevant for one in clean] == [one.relevant for one in filtered]


def test_qa2d_rows_join_to_squad(data_folder: Path) -> None:
    joined = {
        split: sum(
            1
            for _ in qa2d.on_squad(
                catalog.load("qa2d", data_folder / "qa2d", "train"), catalog.load("squad", data_folder / "squad", split)
            )
        )
        for split in ("train", "valid")
    }
    assert joined == {"train": 5_539, "valid": 1_359}


def test_ten_passages_hold_every_sentence(data_folder: Path) -> None:
    examples = sound(lambda: catalog.load("narrativeqa", data_folder / "narrativeqa", "valid", passages="ten"))
    counts = sorted(len(passages) for passages in {one.article: one.passages for one in examples}.values())
    assert counts[len(counts) // 2] == 10


def test_cleaned_msmarco_agrees_with_itself(data_folder: Path) -> None:
    for example in catalog.load("msmarco", data_folder / "msmarco_sample", "sample", clean=True):
        assert bool(example.answers) == any(example.relevant)
        assert len({passage.text for passage in example.passages}) == len(example.passages)
