"""Summaries: Debatepedia, QMSum, SQuALITY, XSum and CNN/DailyMail."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from dataset_checks import json_lines, sound, text

from wherefrom.data import cnndm, debatepedia, qmsum, squality, xsum
from wherefrom.data.faults import DatasetError


def debate(folder: Path, **lines: list[str]) -> Path:
    for part, texts in lines.items():
        text(folder / f"valid_{part}", "".join(f"<s> {line} <eos>\n" for line in texts))
    return folder


def test_debatepedia_lines_are_parallel_and_bare(tmp_path: Path) -> None:
    debate(tmp_path, content=["trams are slow .", "ünd ."], query=["trams : good ?", "q"], summary=["trams bad", "s"])
    first, second = sound(lambda: debatepedia.load(tmp_path, "dev"))
    assert (first.question.text, first.passages[0].text, first.summaries) == (
        "trams : good ?",
        "trams are slow .",
        ("trams bad",),
    )
    assert second.passages[0].text == "ünd ."


def test_debatepedia_files_of_unequal_length_are_an_error(tmp_path: Path) -> None:
    debate(tmp_path, content=["a", "b"], query=["a", "b"], summary=["a"])
    with pytest.raises(DatasetError, match="valid_summary ends after 1 lines; expected as many as in the other two"):
        list(debatepedia.load(tmp_path, "valid"))
    text(tmp_path / "valid_summary", "<s> a <eos>\n\n<s> b <eos>\n")
    with pytest.raises(DatasetError, match=r"valid_summary, line 3: expected it beside line 2 of .*valid_content"):
        list(debatepedia.load(tmp_path, "valid"))
    (tmp_path / "valid_query").unlink()
    with pytest.raises(DatasetError, match="holds no valid_query"):
        debatepedia.load(tmp_path, "valid")


def meeting(**changes: Any) -> dict[str, Any]:
    return {
        "topic_list": [{"topic": "buttons", "relevant_text_span": [["0", "1"]]}],
        "general_query_list": [{"query": "Summarize the whole meeting", "answer": "They spoke of buttons."}],
        "specific_query_list": [
            {"query": "What of colour ? ", "answer": "It is red.", "relevant_text_span": [["1", "2"], ["3", "3"]]}
        ],
        "meeting_transcripts": [{"speaker": f"S{turn}", "content": f"Turn {turn} ."} for turn in range(5)],
        "meeting": "M1",
    } | changes


def test_qmsum_labels_the_turns_a_summary_rests_on(tmp_path: Path) -> None:
    json_lines(tmp_path / "val.jsonl", [meeting(), meeting(meeting="M2")])
    general, specific, *_ = sound(lambda: qmsum.load(tmp_path, "valid"))
    assert (general.kind, general.relevant, general.summaries) == ("general", (), ("They spoke of buttons.",))
    assert (specific.kind, specific.relevant) == ("specific", (False, True, True, True, False))
    assert (specific.passages[2].title, specific.passages[2].text, specific.article) == ("S2", "Turn 2 .", "M1")
    assert specific.question.text == "What of colour ?"


def test_qmsum_without_meeting_names(tmp_path: Path) -> None:
    nameless = {name: value for name, value in meeting().items() if name != "meeting"}
    json_lines(tmp_path / "train.jsonl", [nameless, nameless])
    assert [example.article for example in sound(lambda: qmsum.load(tmp_path, "train"))[::2]] == [
        "meeting-1",
        "meeting-2",
    ]


def test_qmsum_by_topic_loses_no_turn(tmp_path: Path) -> None:
    topics = [
        {"topic": "buttons", "relevant_text_span": [["0", "1"]]},
        {"topic": "colour", "relevant_text_span": [["3", "4"]]},
    ]
    json_lines(tmp_path / "val.jsonl", [meeting(topic_list=topics)])
    general, specific = sound(lambda: qmsum.load(tmp_path, "val", topics=True))
    assert general.passages == specific.passages
    assert [(each.title, each.text) for each in specific.passages] == [
        ("buttons", "S0: Turn 0 .\n\nS1: Turn 1 ."),
        ("", "S2: Turn 2 ."),
        ("colour", "S3: Turn 3 .\n\nS4: Turn 4 ."),
    ]
    assert specific.relevant == ()


@pytest.mark.parametrize("span", [["4", "5"], ["3", "2"], ["-1", "0"]])
def test_qmsum_turns_outside_the_meeting_are_an_error(tmp_path: Path, span: list[str]) -> None:
    query = {"query": "q", "answer": "a", "relevant_text_span": [span]}
    json_lines(tmp_path / "test.jsonl", [meeting(specific_query_list=[query])])
    with pytest.raises(DatasetError, match="line 1: relevant_text_span: expected turns from 0 to 4, not"):
        list(qmsum.load(tmp_path, "test"))


def test_wrong_qmsum_names_the_field(tmp_path: Path) -> None:
    json_lines(tmp_path / "test.jsonl", [meeting(meeting_transcripts=[{"speaker": "A"}])])
    with pytest.raises(DatasetError, match=r"line 1: .*missing required field `content`.*meeting_transcripts\[0\]"):
        list(qmsum.load(tmp_path, "test"))


def test_squality_has_four_summaries_a_question(tmp_path: Path) -> None:
    responses = [{"worker_id": str(number), "response_text": f"Told by {number}. "} for number in range(4)]
    asked = [{"question_text": " Who ran? ", "question_number": 1, "responses": responses}]
    story = {"document": "A dog ran.\r\nFar.", "questions": asked, "metadata": {"passage_id": "61"}}
    json_lines(tmp_path / "train.jsonl", [story, {**story, "questions": [*asked, *asked], "metadata": None}])
    first, *others = sound(lambda: squality.load(tmp_path, "train"))
    assert (first.question.text, first.passages[0].text) == ("Who ran?", "A dog ran.\nFar.")
    assert first.summaries == ("Told by 0.", "Told by 1.", "Told by 2.", "Told by 3.")
    assert [each.article for each in (first, *others)] == ["61", "story-2", "story-2"]


def test_xsum_in_both_forms(tmp_path: Path) -> None:
    json_lines(tmp_path / "xsum.jsonl", [{"input": "Snow fell.\nMuch.", "target": "Snow. ", "comment": "c-0"}])
    json_lines(tmp_path / "validation.jsonl", [{"document": "Snow fell.\nMuch.", "summary": "Snow.", "id": "c-0"}])
    (sample,) = sound(lambda: xsum.load(tmp_path, "sample"))
    assert (sample.question.id, sample.question.text, sample.summaries) == ("c-0", "", ("Snow.",))
    assert sample.passages[0].text == "Snow fell.\nMuch."
    assert sound(lambda: xsum.load(tmp_path, "dev")) == [sample]


def test_xsum_needs_both_texts(tmp_path: Path) -> None:
    for record, missing in (({"summary": "s"}, "document"), ({"input": "d"}, "summary")):
        json_lines(tmp_path / "train.jsonl", [record])
        with pytest.raises(DatasetError, match=f"line 1: expected a field {missing}"):
            list(xsum.load(tmp_path, "train"))


STORY = "A fire broke out .\n\nNobody was hurt .\n\n@highlight\n\nFire in a mill\n\n@highlight\n\nNobody hurt\n"


def story(folder: Path, url: str, content: str = STORY) -> str:
    text(folder / "cnn" / "stories" / f"{hashlib.sha1(url.encode()).hexdigest()}.story", content)
    return f"{url}\n"


def test_cnndm_stories_end_in_highlights(tmp_path: Path) -> None:
    text(tmp_path / "url_lists" / "all_val.txt", story(tmp_path, "http://a.example/1"))
    story(tmp_path, "http://a.example/2", "@highlight\n\nOnly this — né\n")
    (example,) = sound(lambda: cnndm.load(tmp_path, "valid"))
    assert example.passages[0].text == "A fire broke out .\n\nNobody was hurt ."
    assert example.summaries == ("Fire in a mill\nNobody hurt",)
    everything = sound(lambda: cnndm.load(tmp_path, "all"))
    assert sorted(one.summaries[0] for one in everything) == ["Fire in a mill\nNobody hurt", "Only this — né"]


def test_cnndm_in_lines(tmp_path: Path) -> None:
    record = {"article": "A fire broke out .", "highlights": "Fire in a mill\nNobody hurt", "id": "ab12"}
    (tmp_path / "test.jsonl.gz").write_bytes(gzip.compress(json.dumps(record).encode()))
    (example,) = sound(lambda: cnndm.load(tmp_path, "test"))
    assert (example.question.id, example.summaries) == ("ab12", ("Fire in a mill\nNobody hurt",))
    assert sound(lambda: cnndm.load(tmp_path / "test.jsonl.gz", "")) == [example]


def test_wrong_cnndm_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no train\.jsonl"):
        cnndm.load(tmp_path, "train")
    story(tmp_path, "http://a.example/1", "No highlights here.\n")
    with pytest.raises(DatasetError, match=r"\.story: expected a line @highlight"):
        list(cnndm.load(tmp_path, "all"))
    with pytest.raises(DatasetError, match=r"holds no url_lists/all_train\.txt"):
        cnndm.load(tmp_path, "train")
    text(tmp_path / "all_train.txt", "http://a.example/1\nhttp://a.example/missing\n")
    with pytest.raises(DatasetError, match=r"line 2: expected the story .* of http://a\.example/missing"):
        cnndm.load(tmp_path, "train")
