"""What writers said, scored on texts, and several runs beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the writer's material needs tokenizers")

from train.letters import letters_tokenizer
from train.writing.towns import towns_material
from wherefrom.evaluate.texts import groups_of, main, scored, told
from wherefrom.train.writing.corpus import texts_beside

TOKENIZER = letters_tokenizer()


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return towns_material(tmp_path_factory.mktemp("texts")).path


def line(asked: str, example: int, text: str | None) -> dict[str, Any]:
    tokens = None if text is None else TOKENIZER.encode(text).ids
    return {
        "asked": asked,
        "example": example,
        "tokens": tokens,
        "target": tokens,
        "answerable": text is not None,
        "chance": 0.9 if text else 0.2,
        "scores": [0.1, 0.7],
        "relevant": [False, text is not None],
    }


SAID = [
    line("short", 112, "1127"),
    line("short", 113, "9"),
    line("short", 111, None),
    line("sentence", 112, "town 112 has 1127 bridges."),
    line("sentence", 116, "people walk in the old town. people walk in the old town."),
    line("short of sentence", 112, "1127"),
    line("short of sentence", 116, "1167"),
]


def test_scores_by_how_it_was_asked(material: Path) -> None:
    found = scored(SAID, told(texts_beside(material)), TOKENIZER)
    assert found["short"]["examples"] == 2
    assert found["short"]["em"] == 50
    assert found["sentence"]["each"]["rouge_l"][112] == pytest.approx(1.0)
    assert found["sentence"]["repeated_4_grams"] > 20  # one sentence says nearly all twice
    assert set(found["sentence"]["rouge_l by keyword"]) == {"how"}
    assert set(found["sentence"]["rouge_l by type"]) == {"NUMERIC"}
    assert (found["sentence"]["exact"], found["short"]["exact"]) == (50, 50)  # ROUGE-L of 1
    assert (found["passages"]["answerable_precision"], found["passages"]["answerable_recall"]) == (100, 100)
    assert found["passages"]["answerable_curve"] == [[0.9, 100, 100], [0.2, pytest.approx(200 / 3), 100]]
    assert "flipped" not in found["passages"]
    assert found["passages"]["map"] == 100
    assert found["passages"]["answerable_f1"] == 100
    assert found["styles"]["zero_overlap"] == 50
    assert found["styles"]["sentence_holds_short"] == 50


def test_runs_are_compared_with_the_first(material: Path, tmp_path: Path) -> None:
    better = [line("short", 113, "1137") if each["example"] == 113 else each for each in SAID]
    for name, lines in (("one", SAID), ("two", better)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    TOKENIZER.save(str(tmp_path / "tokenizer.json"))
    main(
        [
            str(material),
            str(tmp_path / "tokenizer.json"),
            str(tmp_path / "report.json"),
            f"one={tmp_path / 'one.jsonl'}",
            f"two={tmp_path / 'two.jsonl'}",
        ]
    )
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["compared with"] == "one"
    assert "against" not in report["runs"]["one"]
    assert report["runs"]["two"]["against"]["short f1"]["difference"] == pytest.approx(50)
    low, high = report["runs"]["two"]["against"]["short f1"]["interval"]
    assert (low, high) == (0, 100)  # of two questions one is better by 100: some draws have it twice, some never
    assert report["runs"]["two"]["against"]["sentence rouge_l"]["difference"] == 0
    assert report["runs"]["two"]["against"]["sentence rouge_l"]["interval"] == [0, 0]


def test_sentences_turned_back_are_scored_as_short_answers(material: Path) -> None:
    texts = told(texts_beside(material))
    without = {**texts[116], "references": 0}  # its answer serves style transfer alone
    found = scored([line("reverse", 112, "1127"), line("reverse", 116, "9")], {**texts, 116: without}, TOKENIZER)
    assert (found["reverse"]["em"], found["reverse"]["f1"]) == (50, 50)
    assert found["reverse"]["rouge_l"] == pytest.approx(50)


def test_decisions_that_change_with_the_order_of_passages_are_counted(material: Path) -> None:
    shuffled = [line("shuffled", 112, None), line("shuffled", 113, "9"), line("shuffled", 111, None)]
    found = scored([*SAID, *shuffled], told(texts_beside(material)), TOKENIZER)
    assert found["passages"]["flipped"] == pytest.approx(100 / 3)  # 112 was answerable at 0.9, now 0.2
    assert "shuffled" not in found


def test_the_groups_of_a_question() -> None:
    assert groups_of("How many bridges are there?") == ("type Numeric", "keyword how")
    assert groups_of("Name the king.") == ("type Entity", "keyword other")
