"""Answer selection: TREC-QA, WikiQA and YahooCQA."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from dataset_checks import json_lines, sound, text, tsv

from wherefrom.data import trecqa, wikiqa, yahoocqa
from wherefrom.data.examples import Example
from wherefrom.data.faults import DatasetError

MIXED = {
    "question": "Who built the weir ?",
    "candidates": [{"sentence": "Ada built it in <num> .", "label": 1}, {"sentence": "It rains .", "label": 0}],
}
RIGHT = {"question": "Who ?", "candidates": [{"sentence": "Ada & Co. -LRB- builders -RRB- .", "label": 1}]}
WRONG = {"question": "Why ?", "candidates": [{"sentence": "It rains .", "label": 0}]}
JACANA = (
    "<QApairs id='1.4'>\n<question>\nWho\tbuilt\tthe\tweir\t?\nWP\tVBD\tDT\tNN\t.\n1\t2\t3\t4\t5\n</question>\n"
    "<positive>\nAda\tbuilt\tit\tin\t<num>\t.\nNNP\tVBD\tPRP\tIN\tCD\t.\n</positive>\n"
    "<negative>\nIt\trains\t.\nPRP\tVBZ\t.\n</negative>\n</QApairs>\n"
    "<QApairs id='1.5'>\n<question>\nWho\t?\n</question>\n"
    "<positive>\nAda\t&\tCo.\t-LRB-\tbuilders\t-RRB-\t.\n</positive>\n</QApairs>\n"
)


def content(example: Example) -> tuple[str, list[str], tuple[bool, ...]]:
    return example.question.text, [passage.text for passage in example.passages], example.relevant


def test_trecqa_in_lines_and_in_jacana_form_is_the_same(tmp_path: Path) -> None:
    json_lines(tmp_path / "dev.jsonl", [MIXED, RIGHT])
    text(tmp_path / "TEST.xml", JACANA)
    tsv(
        tmp_path / "trecr_train.tsv",
        [["question", "answer", "label"]]
        + [
            [record["question"], candidate["sentence"], f"{candidate['label']} "]  # type: ignore[index,list-item]
            for record in (MIXED, RIGHT)
            for candidate in record["candidates"]
        ],
    )
    lines, jacana, rows = (
        sound(lambda split=split: trecqa.load(tmp_path, split)) for split in ("dev", "test", "train-all")
    )
    assert content(lines[0]) == ("Who built the weir ?", ["Ada built it in <num> .", "It rains ."], (True, False))
    assert [*map(content, lines)] == [*map(content, jacana)] == [*map(content, rows)]
    assert [example.question.id for example in jacana] == ["1.4", "1.5"]


def test_trecqa_clean_needs_right_and_wrong_candidates(tmp_path: Path) -> None:
    file = json_lines(tmp_path / "dev.jsonl", [RIGHT, MIXED, WRONG, MIXED])
    assert [example.question.id for example in sound(lambda: trecqa.load(file, "dev", clean=True))] == [
        "trecqa-2",
        "trecqa-4",
    ]


def test_trecqa_long_candidates_can_be_left_out(tmp_path: Path) -> None:
    file = json_lines(tmp_path / "dev.jsonl", [MIXED, RIGHT])
    short, empty = sound(lambda: trecqa.load(file, "dev", max_words=3))
    assert (content(short)[1:], content(empty)[1:]) == ((["It rains ."], (False,)), ([], ()))
    assert not list(trecqa.load(file, "dev", max_words=3, clean=True))


def test_trecqa_can_be_put_together(tmp_path: Path) -> None:
    file = json_lines(tmp_path / "dev.jsonl", [RIGHT])
    assert content(next(trecqa.load(file, "dev", detokenize=True))) == ("Who?", ["Ada & Co. (builders)."], (True,))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            '{"question": "Who?", "candidates": [{"sentence": "a", "label": 3}]}',
            "line 1: label: expected 0 or 1, not '3'",
        ),
        ('{"question": "Who?"}', "line 1: Object missing required field `candidates`"),
        (
            JACANA.replace("<positive>", "<maybe>", 1),
            "line 7: expected <question>, <positive>, <negative> or </QApairs>",
        ),
        (JACANA.removesuffix("</QApairs>\n"), "line 16: QApairs '1.5': expected </QApairs> before the file ends"),
        ("<QApairs id='1'>\n</QApairs>\n", "line 1: QApairs '1': expected a <question>"),
        ("<QApairs id='1'>\n<question>\n</question>\n", "line 2: <question>: expected a line of words"),
        ("<QApairs id='1'>\n<question>\nWho\n", "line 2: <question>: expected </question> before"),
        ("<pairs>\n", "line 1: expected <QApairs id="),
        ("question\tanswer\tlabel\nWho?\tAda\tyes\n", "line 2: label: expected 0 or 1, not 'yes'"),
    ],
)
def test_wrong_trecqa_says_what_and_where(tmp_path: Path, written: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        list(trecqa.load(text(tmp_path / "dev.jsonl", written), "dev"))


HEADER = list(wikiqa.COLUMNS)
ROWS = [
    ["Q1", "how is ice made", "D1", "Ice", "D1-0", 'Ice is "frozen" water .', "1"],
    ["Q1", "how is ice made", "D1", "Ice", "D1-1", "Ice floats.", "0"],
    ["Q2", "who sang", "D2", "Öl — ₤", "D2-0", "Nobody sang.", "0"],
]


def test_wikiqa_tells_which_questions_are_answered(tmp_path: Path) -> None:
    tsv(tmp_path / "WikiQA-dev.tsv", [HEADER, *ROWS])
    answered, unanswered = sound(lambda: wikiqa.load(tmp_path, "valid"))
    assert content(answered) == ("how is ice made", ['Ice is "frozen" water .', "Ice floats."], (True, False))
    assert (answered.answerable, answered.article, answered.passages[1].id) == (True, "D1", "D1-1")
    assert (unanswered.answerable, unanswered.passages[0].title) == (False, "Öl — ₤")
    assert sound(lambda: wikiqa.load(tmp_path, "dev", clean=True)) == [answered]


def test_wikiqa_in_pairs(tmp_path: Path) -> None:
    tsv(
        tmp_path / "wiki_valid.tsv",
        [["question", "answer", "label"], ["a", "b", "0"], ["a", "c", "1"], ["d", "e", "0"]],
    )
    examples = sound(lambda: wikiqa.load(tmp_path / "wiki_valid.tsv", "dev"))
    assert [*map(content, examples)] == [("a", ["b", "c"], (False, True)), ("d", ["e"], (False,))]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([HEADER, ROWS[0], ROWS[2], ROWS[1]], "line 4: QuestionID 'Q1' came before"),
        ([HEADER, ROWS[0], ROWS[0]], "line 3: SentenceID 'D1-0' came before"),
        ([HEADER, [*ROWS[0][:-1], "?"]], r"line 2: label: expected 0 or 1, not '\?'"),
        ([HEADER, ROWS[0][:-1]], r"line 2: expected 7 fields \(QuestionID, .*\), not 6"),
        ([ROWS[0]], "line 1: expected the columns QuestionID"),
    ],
)
def test_wrong_wikiqa_says_what_and_where(tmp_path: Path, rows: list[list[str]], message: str) -> None:
    tsv(tmp_path / "WikiQA-train.tsv", rows)
    with pytest.raises(DatasetError, match=message):
        list(wikiqa.load(tmp_path, "train"))


def test_yahoocqa_has_one_right_answer_among_five(tmp_path: Path) -> None:
    rows = [["how do i bake", f"answer {number}", str(int(number == 2))] for number in range(5)]
    rows += [["why is it red?", "", "0"], ["why is it red?", "rust", "1"]]
    tsv(tmp_path / "yahoocqa_valid.tsv", [["question", "answer", "label"], *rows])
    first, second = sound(lambda: yahoocqa.load(tmp_path, "dev"))
    assert first.relevant == (False, False, True, False, False)
    assert content(second) == ("why is it red?", ["", "rust"], (False, True))  # an empty candidate takes a rank too
    with pytest.raises(DatasetError, match="holds no"):
        yahoocqa.load(tmp_path, "test")


def pickled(path: Path, value: object) -> Path:
    path.write_bytes(pickle.dumps(value, protocol=2))
    return path


def test_yahoocqa_as_its_authors_pickled_it(tmp_path: Path) -> None:
    questions = {"how do i bake": [["slowly", 0], ["in an öven", 1]]}
    pickled(tmp_path / "env.pkl", {"train": {}, "dev": questions, "test": {"why": [["so", 1]]}})
    (example,) = sound(lambda: yahoocqa.load(tmp_path, "valid"))
    assert content(example) == ("how do i bake", ["slowly", "in an öven"], (False, True))
    assert content(next(yahoocqa.load(tmp_path / "env.pkl", "test"))) == ("why", ["so"], (True,))


def test_yahoocqa_of_python_2(tmp_path: Path) -> None:
    for letter in (b"\xc3\xa9", b"\xe9"):  # é in UTF-8 and in Latin-1, as bytes of protocol 0
        word = b"S'caf" + b"".join(b"\\x%02x" % byte for byte in letter) + b"'\n"
        (tmp_path / "env.pkl").write_bytes(b"(dS'dev'\n(d" + word + b"(l(lS'yes'\naI1\naass.")
        assert content(next(yahoocqa.load(tmp_path, "dev"))) == ("café", ["yes"], (True,))


def test_a_pickle_that_could_run_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match=r"env\.pkl: expected a pickle of dictionaries, .*: it names __builtin__\.print"
    ):
        list(yahoocqa.load(pickled(tmp_path / "env.pkl", {"dev": print}), "dev"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"train": {}}, "expected a split dev; there are train"),
        ({"dev": {"why": [["so", 2]]}}, "question 1: label: expected 0 or 1, not '2'"),
        ({"dev": {"why": [["so"]]}}, "Expected `array` of length 2, got 1"),
        (["dev"], "Expected `object`, got `array`"),
    ],
)
def test_wrong_pickles_say_what_is_wrong(tmp_path: Path, value: object, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        list(yahoocqa.load(pickled(tmp_path / "env.pkl", value), "dev"))


@pytest.mark.parametrize("written", [b"", b"not a pickle", b"\x80\x02}q\x00"])
def test_a_file_that_is_no_pickle_is_an_error(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "env.pkl").write_bytes(written)
    with pytest.raises(DatasetError, match="expected a pickle"):
        list(yahoocqa.load(tmp_path, "dev"))
