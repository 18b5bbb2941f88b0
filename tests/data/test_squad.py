"""SQuAD 1.1 and 2.0."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from dataset_checks import sound
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.data import squad
from wherefrom.data.examples import GoldSpan
from wherefrom.data.faults import DatasetError, DatasetWarning

CONTEXT = "Der Müller 😀 mahlt Korn. The miller grinds corn; the miller sings."


def question(id: str, *answers: tuple[str, int], **more: Any) -> dict[str, Any]:
    golds = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": id, "question": f"Question {id}?", "answers": golds, **more}


def file(*questions: dict[str, Any], title: str = "Old_mill", context: str = CONTEXT) -> bytes:
    paragraphs = [{"context": context, "qas": list(questions)}]
    return json.dumps({"version": "1.1", "data": [{"title": title, "paragraphs": paragraphs}]}).encode()


def test_answers_are_spans_in_characters(tmp_path: Path) -> None:
    (tmp_path / "dev-v1.1.json").write_bytes(file(question("a", ("mahlt", 13), ("Korn", 19), ("Korn", 19))))
    (example,) = sound(lambda: squad.load(tmp_path, "dev"))
    assert example.answers == ("mahlt", "Korn", "Korn")  # three people answered, two alike
    assert example.spans[0] == GoldSpan("Old_mill#0", 13, 18, "mahlt")
    assert example.passages[0].title == "Old mill"
    assert (example.answerable, example.relevant, example.article) == (True, (True,), "Old_mill")


def test_an_ambiguous_start_is_not_sure(tmp_path: Path) -> None:
    ambiguous = question("a", ("miller", 29))
    ambiguous["answers"][0]["start_ambiguous"] = True
    (tmp_path / "train-v1.1.json.xz").write_bytes(lzma.compress(file(ambiguous)))
    (example,) = sound(lambda: squad.load(tmp_path, "train"))
    assert [span.sure for span in example.spans] == [False]


def test_impossible_questions_have_no_answer_not_even_a_plausible_one(tmp_path: Path) -> None:
    wrong = question("b", is_impossible=True, plausible_answers=[{"text": "Korn", "answer_start": 19}])
    (tmp_path / "dev-v2.0.json.gz").write_bytes(
        gzip.compress(file(question("a", ("Korn", 19), is_impossible=False), wrong))
    )
    possible, impossible = sound(lambda: squad.load_2(tmp_path, "dev"))
    assert (possible.answerable, possible.answers) == (True, ("Korn",))
    assert (impossible.answerable, impossible.answers, impossible.spans) == (False, (), ())
    assert impossible.passages == possible.passages
    assert impossible.relevant == (False,)


def test_a_title_that_comes_twice_does_not_mix_its_paragraphs(tmp_path: Path) -> None:
    one, two = (json.loads(file(question(id, ("x", 0)), context=f"x {id}"))["data"][0] for id in "ab")
    path = tmp_path / "train-v1.1.json"
    path.write_text(json.dumps({"data": [one, two]}))
    assert [example.passages[0].id for example in sound(lambda: squad.load(path, ""))] == ["Old_mill#0", "Old_mill#0~2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (file(question("a"), question("a")), r"article 1: id 'a' came before"),
        (file({"id": "a", "answers": []}), r"missing required field `question` - at `\$\.paragraphs\[0\]\.qas\[0\]`"),
        (b'{"version": "1.1"}', r"Object missing required field `data`"),
        (b"[]", r"Expected `object`, got `array`"),
        (file()[:-5], "train-v1.1.json: Input data was truncated"),
    ],
)
def test_wrong_files_say_what_and_where(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "train-v1.1.json").write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        list(squad.load(tmp_path, "train"))


def test_wrong_offsets_are_mended_and_counted_once_a_file(tmp_path: Path) -> None:
    (tmp_path / "dev-v1.1.json").write_bytes(
        file(
            question("a", ("Korn", 18)),
            question("b", ("miller", 60)),  # stands at 29 and at 53
            question("c", ("miller", 20)),
            question("d", ("Mehl", 3), ("Korn", -1)),
            question("e", ("Mehl", 3)),
            question("f", ("Korn", 19)),
        )
    )
    with pytest.warns(DatasetWarning) as warnings:
        examples = list(squad.load(tmp_path, "dev"))
    assert [[span.start for span in example.spans] for example in examples] == [[19], [53], [29], [19], [], [19]]
    assert [example.spans[0].sure for example in examples if example.spans] == [True, False, False, True, True]
    assert examples[4].answers == ("Mehl",)  # scores compare texts: it still counts
    assert all(example.answerable for example in examples)
    (warning,) = warnings
    message = str(warning.message)
    assert "6 answers do not stand at their answer_start: 4 taken from where their text is nearest; 2 occur" in message
    assert "dev-v1.1.json" in message
    assert "question a, article 1: 'Korn' is not at 18" in message


def test_wrong_offsets_of_the_first_questions_are_counted_too(tmp_path: Path) -> None:
    (tmp_path / "dev-v1.1.json").write_bytes(file(question("a", ("Korn", 18)), question("b", ("Korn", 17))))
    examples = squad.load(tmp_path, "dev")
    next(examples)
    with pytest.warns(DatasetWarning, match=": 1 answers do not stand"):
        examples.close()  # type: ignore[attr-defined]  # as a loop that stops early does


def test_a_missing_file_is_an_error_before_the_first_example(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no train-v1\.1\.json"):
        squad.load(tmp_path, "train")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_spans_hold_for_any_text(before: str, answer: str) -> None:
    content = file(question("a", (answer, len(before))), context=f"{before}{answer} and more")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any.json"
        path.write_bytes(content)
        (example,) = squad.load(path, "train")
    assert example.spans[0].text == answer
