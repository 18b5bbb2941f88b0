"""Finding and unpacking files, and what is said about files that are wrong."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from dataset_checks import text

from wherefrom.data.faults import DatasetError, Ids, RecordPlace
from wherefrom.data.opening import (
    csv_rows,
    json_records,
    named_files,
    read_bytes,
    read_text,
    split_files,
    text_lines,
    tsv_rows,
)
from wherefrom.errors import SettingsError, WherefromError


class Word(msgspec.Struct):
    word: str
    count: int


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_the_content_says_how_it_is_packed_not_the_name(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "some.txt"
    file.write_bytes(pack("höhle\n第二\n".encode()))
    assert [line for _, line in text_lines(file)] == ["höhle", "第二"]
    assert read_bytes(file) == "höhle\n第二\n".encode()


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_file_cut_short_is_named(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "cut.gz"
    file.write_bytes(pack(b"line\n" * 5000)[:-20])
    with pytest.raises(DatasetError, match=r"cut\.gz is cut short or damaged"):
        list(text_lines(file))


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    file = text(tmp_path / "odd.txt", "\ufeffone\u2028still one\x0cand still\r\n\n  \nthree")
    assert [(place.number, line) for place, line in text_lines(file)] == [
        (1, "one\u2028still one\x0cand still"),
        (4, "three"),
    ]


def test_text_that_is_not_utf8_is_an_error_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes("plain\ncafé\n".encode("latin-1"))
    with pytest.raises(DatasetError, match=r"latin\.txt, line 2: expected UTF-8 text; byte 4"):
        list(text_lines(file))
    assert read_text(file) == "plain\ncafé\n"  # newswire may be Latin-1


def test_a_plain_file_is_preferred_to_its_packed_copy(tmp_path: Path) -> None:
    for name in ("part2.xml.gz", "part1.xml", "part1.xml.gz"):
        text(tmp_path / name, "")
    assert [file.name for file in named_files(tmp_path, ["part?.xml"])] == ["part1.xml", "part2.xml.gz"]


def test_the_first_name_that_is_there_wins(tmp_path: Path) -> None:
    text(tmp_path / "b.json.xz", "")
    text(tmp_path / "c.json", "")
    assert [file.name for file in named_files(tmp_path, ["a.json", "b.json", "c.json"])] == ["b.json.xz"]


def test_missing_files_say_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no a\.json or b\.json \(plain, \.gz, \.xz or \.bz2\)"):
        named_files(tmp_path, ["a.json", "b.json"])
    with pytest.raises(DatasetError, match=r"nowhere does not exist; expected a folder with a\.json"):
        named_files(tmp_path / "nowhere", ["a.json"])
    with pytest.raises(DatasetError, match="is a single file; expected the folder"):
        named_files(text(tmp_path / "file", ""), ["a.json"])


def test_split_names_of_publishers_are_understood_and_others_suggested(tmp_path: Path) -> None:
    files = {"train": ("train.tsv",), "dev": ("dev.tsv",)}
    dev = text(tmp_path / "dev.tsv", "")
    assert split_files(tmp_path, "valid", files) == [dev]
    assert split_files(dev, "whatever", files) == [dev]
    with pytest.raises(SettingsError, match="split knows no 'trian'; did you mean train"):
        split_files(tmp_path, "trian", files)
    with pytest.raises(SettingsError, match="split knows no 'holdout'; it knows train, dev"):
        split_files(tmp_path, "holdout", files)


def test_json_comes_as_a_list_or_in_lines(tmp_path: Path) -> None:
    lines = text(tmp_path / "lines", '{"word": "a", "count": 1}\n\n{"word": "b", "count": 2, "more": null}\n')
    whole = text(tmp_path / "list", ' [{"word": "a", "count": 1},\n {"word": "b", "count": 2}]')
    assert [record for _, record in json_records(lines, Word)] == [record for _, record in json_records(whole, Word)]
    assert [str(place) for place, _ in json_records(whole, Word)] == [f"{whole}, record 1", f"{whole}, record 2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"word": "a", "count": 1}\n{"word": "b"}', r"line 2: Object missing required field `count`"),
        ('{"word": "a", "count": "1"}', r"line 1: Expected `int`, got `str` - at `\$\.count`"),
        (
            '[{"word": "a", "count": 1}, {"word": 3, "count": 1}]',
            r"record 2: Expected `str`, got `int` - at `\$\.word`",
        ),
        ('{"word": "a", "co', r"line 1: Input data was truncated"),
        ('[{"word": "a"', r"words\.json: Input data was truncated"),
        ('{"word": "\\ud800", "count": 1}', r"line 1: .*surrogate"),
    ],
)
def test_wrong_json_names_file_place_and_field(tmp_path: Path, content: str, message: str) -> None:
    file = text(tmp_path / "words.json", content)
    with pytest.raises(DatasetError, match=message):
        list(json_records(file, Word))


def test_quotation_marks_in_tsv_are_text(tmp_path: Path) -> None:
    file = text(tmp_path / "a.tsv", 'left\tright\r\n"one\ttwo"\r\n')
    assert [row for _, row in tsv_rows(file, ["left", "right"])] == [{"left": '"one', "right": 'two"'}]


def test_wrong_tsv_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"line 2: expected 2 fields \(left, right\), not 3"):
        list(tsv_rows(text(tmp_path / "a.tsv", "left\tright\n1\t2\t3\n"), ["left", "right"]))
    with pytest.raises(DatasetError, match=r"line 1: expected the columns left, right, not 'wrong'"):
        list(tsv_rows(text(tmp_path / "b.tsv", "wrong\n"), ["left", "right"]))
    with pytest.raises(DatasetError, match=r"line 2: expected 2 fields \(left, right\), not 3"):
        list(tsv_rows(text(tmp_path / "tabs.tsv", "left\tright\n\t\t\n"), ["left", "right"]))
    with pytest.raises(DatasetError, match=r"line 1: expected the columns left"):
        list(tsv_rows(text(tmp_path / "c.tsv", ""), ["left", "right"]))


def test_csv_fields_run_over_lines_and_errors_name_where_a_row_begins(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", 'id,said,extra\n1,"two\nlines, ""quoted""",x\n2,plain,y\n3,short\n')
    rows = csv_rows(file, ["said", "id"])
    place, row = next(rows)
    assert (place.number, row) == (2, {"id": "1", "said": 'two\nlines, "quoted"', "extra": "x"})
    assert next(rows)[0].number == 4
    with pytest.raises(DatasetError, match=r"line 5: expected 3 fields \(id, said, extra\), not 2"):
        next(rows)


def test_wrong_csv_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"line 1: expected a column said; there are id, says"):
        list(csv_rows(text(tmp_path / "a.csv", "id,says\n1,2\n"), ["id", "said"]))
    with pytest.raises(DatasetError, match=r"line 2: expected comma-separated values"):
        list(csv_rows(text(tmp_path / "b.csv", 'id,said\n1,"never closed\n'), ["id", "said"]))
    with pytest.raises(DatasetError, match="the file is empty"):
        list(csv_rows(text(tmp_path / "c.csv", ""), ["id"]))


def test_blank_lines_between_csv_rows_are_passed_over(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "id\n\n1\n\n2\n")
    assert [(place.number, row["id"]) for place, row in csv_rows(file, ["id"])] == [(3, "1"), (5, "2")]
    latin = text(tmp_path / "b.csv", "id\né\n", encoding="latin-1")
    with pytest.raises(DatasetError, match=r"b\.csv, line 2: expected UTF-8 text"):
        list(csv_rows(latin, ["id"]))


def test_a_folder_in_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"cannot read .*: Is a directory"):
        read_bytes(tmp_path)


def test_ids_are_given_once() -> None:
    ids, place = Ids(), RecordPlace(Path("a"), 3)
    assert [ids.distinct(id) for id in ["x", "x~2", "x", "x"]] == ["x", "x~2", "x~2~2", "x~3"]
    assert ids.once("y", place, "id") == "y"
    with pytest.raises(DatasetError, match="a, line 3: id 'y' came before"):
        ids.once("y", place, "id")


def test_dataset_errors_are_caught_with_all_others() -> None:
    assert issubclass(DatasetError, WherefromError)
