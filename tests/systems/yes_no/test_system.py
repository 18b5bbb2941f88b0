"""Fitting what decides between Yes and No."""

from __future__ import annotations

import json
import lzma
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from wherefrom.data.examples import Example, whole
from wherefrom.errors import NotFound, SettingsError
from wherefrom.features.polarity import NAMES, TRUTH_NAMES
from wherefrom.lab import lab_file
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import SHIPPED
from wherefrom.systems.yes_no import system as polarity
from wherefrom.systems.yes_no.about import Inputs
from wherefrom.systems.yes_no.questions import BOOLQ, LABELS, _answered, labelled, manual_questions
from wherefrom.systems.yes_no.verdicts import (
    HeardQuestion,
    _quotes,
    fit_verdicts,
    left_out,
    measured_words,
    sure_enough,
)
from wherefrom.train.logistic import logistic
from wherefrom.train.stages import read_json, run, write_json
from wherefrom.types import Question
from wherefrom.write.yes_no import HeardSentence, Hearing


def test_labels_are_one_a_question() -> None:
    rows = [line.split("\t") for line in lab_file(LABELS).read_text().splitlines()]
    assert len({id for id, _ in rows}) == len(rows) > 500
    assert {label for _, label in rows} == {"yes", "no"}


def test_takes_the_questions_whose_answers_agree() -> None:
    passage = whole("p", "The mill is open.")

    def example(*answers: str) -> Example:
        return Example(Question("q", "Is it open?"), (passage,), (True,), answers=answers)

    given = [
        example("Yes."),
        example("No, never.", "Closed."),
        example("yes", "no"),
        example("Nobody"),
        example("Open"),
    ]
    assert [row.yes for row in _answered("x", iter(given))] == [True, False]


def test_accuracy_and_what_is_gained_by_saying_less() -> None:
    chances = numpy.array([0.9, 0.8, 0.55, 0.2])
    found = polarity.measured(chances, numpy.array([True, True, False, False]), ["a", "a", "b", "b"])
    assert found["a"]["accuracy"] == 1.0
    assert found["b"]["accuracy"] == 0.5
    assert found["b"]["always yes"] == 0.0
    assert found["all"]["questions"] == 4
    assert found["sure"]["0.5"] == {"answered": 1.0, "accuracy": 0.75}
    assert found["sure"]["0.7"] == {"answered": 0.75, "accuracy": 1.0}


def test_a_row_is_judged_by_a_line_that_has_not_seen_its_article() -> None:
    # In each article the label is the opposite of what the others say: only a line that had seen it could know.
    seen = numpy.array([[1.0], [0.0]] * 16)
    yes = numpy.array([True, False] * 15 + [False, True])
    articles = [str(number // 2) for number in range(32)]
    chances = left_out(seen, yes, articles, ridge=3.0)
    assert chances[0] > 0.5 > chances[1]
    assert chances[30] > 0.5 > chances[31]


def test_what_is_written_is_what_the_writer_reads(tmp_path: Path) -> None:
    from wherefrom.runtime.weights import Weights
    from wherefrom.write.yes_no import POLARITY, read_line

    random = numpy.random.default_rng(3)
    seen = random.normal(size=(60, len(NAMES)))
    line = logistic(seen, seen[:, 0] + random.normal(size=60) > 0, polarity.DEFAULTS.ridge)
    write_json(tmp_path / POLARITY, line.saved(NAMES))
    read = read_line(Weights(tmp_path))
    assert [read.logit(row) for row in seen.tolist()] == pytest.approx(line.logits(seen).tolist(), abs=1e-4)


def question(text: str, id: str, passage: str) -> dict[str, Any]:
    return {"context": passage, "qas": [{"id": id, "question": text, "answers": [{"text": "mill", "answer_start": 4}]}]}


def write_data(folder: Path) -> Path:
    """Questions under ids that are labelled, whose passages say it, and a few of MultiRC and MS MARCO."""
    labels = [line.split("\t") for line in lab_file(LABELS).read_text().splitlines()[:24]]
    files: dict[str, Any] = {}
    for split, some in (("train", labels[:18]), ("valid", labels[18:])):
        paragraphs = [
            question("Is the mill open?", id, f"The mill is {'open' if label == 'yes' else 'not open'} in May.")
            for id, label in some
        ]
        articles = [{"title": f"{split} {n}", "paragraphs": [each]} for n, each in enumerate(paragraphs)]
        files[f"squad/{split}-v1.1.json.xz"] = {"version": "1.1", "data": articles}
    read = "Paragraph- Sent 1: The mill is open.\nQuestion: Is the mill open?"
    files["more_reading/multirc.jsonl.xz"] = {"input": read, "target": ["Yes, it is"]}
    passage = {"passage_text": ["The mill is not open."], "is_selected": [1]}
    asked = {"query_id": 1, "query": "is the mill open", "passages": passage, "answers": ["No"]}
    files["msmarco_sample/ms_marco_sample.json.xz"] = [asked]
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(lzma.compress(json.dumps(content).encode(), preset=0))
    return folder


def write_boolq(folder: Path) -> Path:
    """Two dozen questions that the shipped reader, which says yes and no itself, is listened to with."""
    lines = [
        {"question": f"is mill {n} open", "passage": f"Mill {n} is {'' if n % 2 else 'not '}open.", "label": n % 2}
        for n in range(24)
    ]
    (folder / "boolq").mkdir()
    packed = lzma.compress("".join(json.dumps(line) + "\n" for line in lines).encode(), preset=0)
    (folder / "boolq" / "valid.jsonl.xz").write_bytes(packed)
    return folder


def test_it_is_fitted_on_what_the_shipped_reader_points_to(tmp_path: Path) -> None:
    inputs, out = Inputs(data=write_boolq(write_data(tmp_path / "data"))), tmp_path / "out"
    said: list[str] = []

    def make(settings: polarity.YesNoSettings = polarity.DEFAULTS) -> None:
        said.clear()
        run("yes-no", polarity.stages(settings, inputs, out, said.append), out, say=said.append)

    make()
    fitted = read_json(out / "weights" / "polarity.json")
    assert list(fitted["terms"]) == list(NAMES)
    assert fitted["terms"]["negation"][0] < 0
    note = read_json(out / "weights" / "provenance.json")["stages"]["fit"]
    assert note["made_of"]["reader"]["model.onnx"] == file_hash(SHIPPED / "reader" / "model.onnx")
    assert note["facts"]["left out"]["squad/train"]["questions"] == 18
    assert note["facts"]["left out"]["all"]["questions"] == 26
    assert note["facts"]["fitted on squad/train alone"]["all"]["questions"] == 8
    make()
    assert said == ["fit: already made"]
    make(polarity.YesNoSettings(only="squad/train"))
    assert read_json(out / "weights" / "polarity.json") != fitted
    with pytest.raises(NotFound, match="only takes one of squad/train, squad/valid, multirc, msmarco"):
        make(polarity.YesNoSettings(only="squad"))


def test_missing_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"train-v1\.1\.json\.xz is not there; --data names"):
        labelled(tmp_path)


@pytest.mark.skipif(not os.environ.get("WHEREFROM_DATA"), reason="needs the datasets (WHEREFROM_DATA)")
def test_every_label_has_its_question() -> None:
    rows = labelled(Path(os.environ["WHEREFROM_DATA"]))
    sources = [row.source for row in rows]
    assert {source: sources.count(source) for source in set(sources)} == {
        "squad/train": 559,
        "squad/valid": 39,
        "multirc": 185,
        "msmarco": 13,
    }


# What the network says itself.


def heard(number: int, truth: float, yes: bool, source: str = "boolq", asks: bool = True) -> HeardQuestion:
    noise = (0.0,) * (len(TRUTH_NAMES) - 1)
    return HeardQuestion(source, f"{source} {number}", yes, asks, (truth, *noise))


def test_how_sure_it_has_to_be() -> None:
    chances = numpy.array([0.99] * 60 + [0.75] * 20 + [0.55] * 20)
    yes = numpy.array([True] * 57 + [False] * 3 + [True] * 14 + [False] * 6 + [True] * 9 + [False] * 11)

    def sure(precision: float, coverage: float, sources: list[str] | None = None) -> float:
        return sure_enough(chances, yes, sources or ["boolq"] * 100, precision, coverage)

    assert sure(precision=0.85, coverage=0.75) == 0.56  # the first that leaves the coins out
    assert sure(precision=0.94, coverage=0.5) == 0.76
    assert sure(precision=0.94, coverage=0.75) == 0.75  # out of reach: as sure as 75 % allow
    assert sure(precision=0.7, coverage=0.75) == 0.5
    assert sure(0.94, 0.5, ["boolq"] * 60 + ["manuals"] * 40) == 0.75  # of the manuals' none would get a word above


def test_words_are_counted_over_all_questions() -> None:
    rows = [heard(1, 0, True), heard(2, 0, True), heard(3, 0, False), heard(4, 0, True, asks=False)]
    figures = measured_words(rows, numpy.array([0.9, 0.6, 0.8, 0.99]), sure=0.7)
    assert figures["questions"] == 4
    assert figures["always yes"] == 0.75
    assert (figures["answered"], figures["accuracy"]) == (0.5, 0.5)
    assert figures["sure"]["0.5"] == {"answered": 0.75, "accuracy": 0.6667}
    assert figures["sure"]["0.9"] == {"answered": 0.25, "accuracy": 1.0}
    assert measured_words(rows, numpy.full(4, 0.5), sure=0.7)["interval"] == []


def test_a_quotation_is_right_where_it_holds_what_decides() -> None:
    text = "The mill is old. It is not\nopen in May, though. Dogs bark."
    spans = [(0, 16), (17, 46), (47, 57)]
    assert [text[slice(*span)] for span in spans][1].startswith("It is not")

    def quotes(evidence: str, place: int) -> bool:
        heard_there = tuple(HeardSentence(span, 3.0 * (at == place), -1.0) for at, span in enumerate(spans))
        return _quotes(Hearing((-1.0,), whole("p", text), heard_there), evidence)

    assert quotes("not open in May", 1)
    assert quotes("It is not open in May, though. Dogs bark.", 2)
    assert not quotes("not open in May", 0)
    figures = measured_words([replace(heard(n, 0, True), quotes=n > 1) for n in range(4)], numpy.full(4, 0.9), sure=0.7)
    assert figures["quotes what decides"] == 0.5


def test_the_line_finds_how_much_a_truth_is_worth() -> None:
    random = numpy.random.default_rng(5)
    truths = random.normal(size=4000) * 2
    yes = random.random(4000) < 1 / (1 + numpy.exp(-1.5 * truths - 0.5))
    rows = [heard(n, truth, bool(label)) for n, (truth, label) in enumerate(zip(truths.tolist(), yes, strict=True))]
    fitted = fit_verdicts(rows, ridge=1.0, precision=0.95, coverage=0.5)
    weight, _, scale = fitted.saved["terms"]["truth"]
    assert weight / scale == pytest.approx(1.5, abs=0.2)
    assert list(fitted.saved["terms"]) == list(TRUTH_NAMES)
    assert fitted.figures["fitted on"] == {"boolq": 2000, "manuals": 0}
    other = fitted.figures["measured"]["boolq, the other half"]
    assert other["questions"] == 2000
    assert other["accuracy"] == pytest.approx(0.95, abs=0.02)
    assert other["ece"] < 0.03


def test_words_of_the_sentence_are_looked_at_only_where_they_add() -> None:
    random = numpy.random.default_rng(6)
    negated = random.random(1200) < 0.5
    yes = negated ^ (random.random(1200) < 0.9)  # the words know, the network does not
    place = TRUTH_NAMES.index("negation")
    rows = []
    for number, (word, label) in enumerate(zip(negated, yes, strict=True)):
        values = [0.0] * len(TRUTH_NAMES)
        values[0], values[place] = float(random.normal()), float(word)
        rows.append(HeardQuestion("boolq", str(number), bool(label), True, tuple(values)))
    assert fit_verdicts(rows, 1.0, 0.85, 0.75).figures["looks at"].endswith("words")
    plain = [HeardQuestion(row.source, row.article, row.features[0] > 0, True, row.features) for row in rows]
    assert "words" not in fit_verdicts(plain, 1.0, 0.85, 0.75).figures["looks at"]


def manuals_file(folder: Path) -> Path:
    lines: list[dict[str, Any]] = [
        {
            "collection": "mills",
            "document": f"{number}.md",
            "title": "Mills",
            "section": "",
            "passage": f"Mill {number} is {'' if number % 2 else 'not '}open. It is old.",
            "question": f"Is mill {number} open?",
            "answer": "yes" if number % 2 else "no",
            "kind": "yes-no",
            "evidence": f"is {'' if number % 2 else 'not '}open.",
            "others": [["Ferries", "", f"Ferry {number} sails twice a day."]],
        }
        for number in range(60)
    ]
    lines.append({**lines[0], "question": "Is it red?", "answer": None, "kind": "near-miss"})
    file = folder / "manuals.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_manuals_give_the_yes_no_questions_that_readers_have_not_seen(tmp_path: Path) -> None:
    rows = manual_questions(manuals_file(tmp_path))
    assert 5 < len(rows) < 20  # of 60, a fifth of the documents
    assert all(row.yes == (" not " not in row.example.passages[0].text) for row in rows)
    assert {len(row.example.passages) for row in rows} == {2}
    assert all(row.evidence in row.example.passages[0].text for row in rows)


def test_a_network_that_says_yes_and_no_is_fitted_as_it_is_listened_to(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="a tiny network is made with torch: pip install 'wherefrom[train]'")
    from runtime import tiny_reader
    from wherefrom.build import build
    from wherefrom.config import resolve
    from wherefrom.evaluate.predict import weights_of
    from wherefrom.types import Hit

    data, reader, out = write_data(tmp_path / "data"), tiny_reader.write(tmp_path / "reader"), tmp_path / "out"
    boolq = [
        {
            "question": f"is mill {n} open",
            "passage": f"Mill {n} -- Mill {n} is {'' if n % 3 else 'not '}open.",
            "label": n % 3 > 0,
        }
        for n in range(40)
    ]
    (data / BOOLQ).parent.mkdir()
    (data / BOOLQ).write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in boolq).encode(), preset=0))
    inputs = Inputs(data=data, weights=reader, manuals=manuals_file(tmp_path))
    said: list[str] = []
    run("yes-no", polarity.stages(polarity.DEFAULTS, inputs, out, said.append), out, say=said.append)
    truth = read_json(out / "weights" / "truth.json")
    assert list(truth["terms"]) == list(TRUTH_NAMES)
    assert 0.5 <= truth["sure"] < 1
    note = read_json(out / "weights" / "provenance.json")["stages"]["fit"]
    assert {BOOLQ, "manuals.jsonl"} <= set(note["made_of"]["data"])
    assert note["made_of"]["reader"]["model.onnx"] == file_hash(reader / "model.onnx")
    figures = note["facts"]["truth"]
    assert figures["fitted on"]["boolq"] == 20
    assert set(figures["measured"]) >= {"boolq, the other half", "manuals, left out of the fit", "multirc"}
    assert 0 <= figures["measured"]["manuals, left out of the fit"]["quotes what decides"] <= 1
    assert "quotes what decides" not in figures["measured"]["multirc"]
    assert any(line.startswith("fit: boolq, the other half: 20 questions, a word for") for line in said)
    # The pipeline listens with what was fitted.
    chosen = [f"runtime.reader={reader}", f"runtime.yes_no={out / 'weights'}", "write.kind=verbatim"]
    pipeline = build(resolve(overrides=[*chosen, "write.sure=0.5"]), None)
    passage = whole("p", "The mill is not open in May. It is old.")
    (trace,) = pipeline.answer_many([Question("q", "Is the mill open?")], [[Hit(passage, 1.0)]], "short", 0.0)
    assert trace.answer is not None
    assert trace.answer.text in ("Yes", "No")
    rests_on = passage.text[trace.answer.rests_on[0].start : trace.answer.rests_on[-1].end]
    assert rests_on in ("The mill is not open in May.", "It is old.")  # a sentence, not the candidate
    assert "weights/truth.json" in weights_of(pipeline)


def test_boolq_is_needed_only_where_the_network_says_yes_and_no(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="a tiny network is made with torch: pip install 'wherefrom[train]'")
    from runtime import tiny_reader

    inputs = Inputs(data=write_data(tmp_path / "data"), weights=tiny_reader.write(tmp_path / "reader"))
    (stage,) = polarity.stages(polarity.DEFAULTS, inputs, tmp_path / "out", print)
    with pytest.raises(NotFound, match=r"boolq/valid\.jsonl\.xz is not there"):
        stage.made_of()


@pytest.mark.parametrize("broken", [{"precision": 0.0}, {"coverage": 1.5}, {"ridge": 0.0}])
def test_settings_that_make_no_sense_are_refused(broken: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        polarity.YesNoSettings(**broken)  # type: ignore[arg-type]
