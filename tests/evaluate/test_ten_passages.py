"""The ten-passage set: its layout, its labels, and what its splits never share."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evaluate.small_data import write_ten_passage_sources
from wherefrom.data import catalog
from wherefrom.errors import SettingsError
from wherefrom.evaluate.ten_passages import NO_ANSWER, TenPassagesSettings, build


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    data = write_ten_passage_sources(tmp_path_factory.mktemp("data") / "data")
    out = tmp_path_factory.mktemp("out")
    build(data, out)
    return data, out


def rows(out: Path, split: str) -> list[dict[str, Any]]:
    with gzip.open(out / f"{split}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_question_has_ten_passages_in_marcos_layout(built: tuple[Path, Path]) -> None:
    for split, questions in (("train", 24), ("valid", 12)):
        all_rows = rows(built[1], split)
        assert len(all_rows) == questions
        for row in all_rows:
            assert len(row["passages"]) == 10
            assert set(row) >= {"query_id", "query", "query_type", "passages", "answers", "wellFormedAnswers"}
            assert row["query_type"] == "NUMERIC"
            assert len({passage["url"] for passage in row["passages"]}) == 10


def test_answerable_questions_have_one_gold_passage_and_no_other_with_the_answer(built: tuple[Path, Path]) -> None:
    for row in rows(built[1], "train") + rows(built[1], "valid"):
        selected = [passage for passage in row["passages"] if passage["is_selected"]]
        if row["answers"] == [NO_ANSWER]:
            assert selected == []
            assert row["wellFormedAnswers"] == []
        else:
            (gold,) = selected
            assert row["answers"][0] in gold["passage_text"]
            holding = [passage for passage in row["passages"] if row["answers"][0] in passage["passage_text"]]
            assert holding == [gold]


def test_about_a_third_is_unanswerable(built: tuple[Path, Path]) -> None:
    all_rows = rows(built[1], "train") + rows(built[1], "valid")
    declined = sum(row["answers"] == [NO_ANSWER] for row in all_rows)
    assert 0.15 * len(all_rows) <= declined <= 0.6 * len(all_rows)


def test_train_and_valid_share_no_passage_and_no_article(built: tuple[Path, Path]) -> None:
    articles = {}
    for split in ("train", "valid"):
        urls = {passage["url"] for row in rows(built[1], split) for passage in row["passages"]}
        articles[split] = {url.rpartition("#")[0].partition("#")[0] for url in urls}
    assert not articles["train"] & articles["valid"]


def test_articles_that_squad_was_made_from_are_not_used_twice(built: tuple[Path, Path]) -> None:
    for split in ("train", "valid"):
        urls = {passage["url"] for row in rows(built[1], split) for passage in row["passages"]}
        assert not any(url.startswith("wikipedia:999") for url in urls)


def test_sentences_of_qa2d_are_joined(built: tuple[Path, Path]) -> None:
    by_source = {row["source_id"]: row for row in rows(built[1], "train") + rows(built[1], "valid")}
    for id, sentence in (("A0", "Town A has 650 bridges in part 0."), ("U1", "Town U has 851 bridges.")):
        row = by_source[id]
        assert row["wellFormedAnswers"] == ([] if row["answers"] == [NO_ANSWER] else [sentence])


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(built: tuple[Path, Path], tmp_path: Path) -> None:
    data, out = built
    build(data, tmp_path / "again")
    build(data, tmp_path / "other", TenPassagesSettings(seed=7))
    for split in ("train", "valid"):
        name = f"{split}.jsonl.gz"
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes()
        assert (tmp_path / "other" / name).read_bytes() != (out / name).read_bytes()


def test_a_finished_split_is_kept_and_a_lost_one_made_again(built: tuple[Path, Path]) -> None:
    data, out = built
    before = (out / "valid.jsonl.gz").read_bytes()
    kept = (out / "train.jsonl.gz").stat().st_mtime_ns
    (out / "valid.jsonl.gz").unlink()
    build(data, out)
    assert (out / "train.jsonl.gz").stat().st_mtime_ns == kept
    assert (out / "valid.jsonl.gz").read_bytes() == before


def test_a_limit_takes_questions_from_all_articles(built: tuple[Path, Path], tmp_path: Path) -> None:
    facts = build(built[0], tmp_path, TenPassagesSettings(limit=6))
    assert facts["train"].questions == 6
    assert {row["source_id"][0] for row in rows(tmp_path, "train")} == set("ABCDEF")


def test_our_own_loader_reads_it(built: tuple[Path, Path]) -> None:
    examples = list(catalog.load("ten-passages", built[1], "valid"))
    assert len(examples) == 12
    assert all(len(example.passages) == 10 for example in examples)
    assert all(any(example.relevant) == bool(example.answerable) for example in examples)


def test_passages_may_carry_their_titles(built: tuple[Path, Path], tmp_path: Path) -> None:
    data, out = built
    build(data, tmp_path, TenPassagesSettings(titles=True))
    for bare, titled in zip(rows(out, "valid"), rows(tmp_path, "valid"), strict=True):
        assert [p.pop("title") != "" for p in titled["passages"]] == [True] * len(titled["passages"])
        assert titled == bare  # nothing else differs
    assert "titles" not in json.loads((out / "ten-passages.json").read_text())["settings"]
    assert json.loads((tmp_path / "ten-passages.json").read_text())["settings"]["titles"] is True
    (first, *_) = catalog.load("ten-passages", tmp_path, "valid")
    assert all(passage.title for passage in first.passages)
    (first, *_) = catalog.load("ten-passages", out, "valid")
    assert not any(passage.title for passage in first.passages)


def test_passages_may_be_those_of_bm25_alone(built: tuple[Path, Path], tmp_path: Path) -> None:
    data, out = built
    build(data, tmp_path, TenPassagesSettings(match=False))
    others = [
        [passage["url"] for passage in row["passages"]] != [passage["url"] for passage in plain["passages"]]
        for row, plain in zip(rows(out, "train"), rows(tmp_path, "train"), strict=True)
    ]
    assert any(others), "nothing is found otherwise"
    assert "match" not in json.loads((out / "ten-passages.json").read_text())["settings"]
    assert json.loads((tmp_path / "ten-passages.json").read_text())["settings"]["match"] is False


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingsError, match="shares between 0 and 1"):
        TenPassagesSettings(unanswerable=1.5)
    with pytest.raises(SettingsError, match="at least passages"):
        TenPassagesSettings(depth=5)
