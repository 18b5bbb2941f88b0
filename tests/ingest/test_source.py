"""Files are unpacked and decoded, whatever their suffix and encoding, or refused in plain words."""

from __future__ import annotations

import gzip
import lzma
import os
import random
import tracemalloc
from pathlib import Path

import pytest

from wherefrom.errors import IngestError
from wherefrom.ingest.source import decoded, opened, readable_name, whole

LIMIT = 1_000_000

RUSSIAN = "Москва — столица России и большой город. Река течёт через центр, и мосты стоят над ней."
JAPANESE = "これは日本語の文章です。東京は日本の首都であり、大きな都市です。"
GERMAN = "Das Café in der Straße kostet “viel” – über 20 €. Der Fluß fließt durch Köln."


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz", "wiki_00"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_the_first_bytes_say_how_a_file_is_packed_not_its_suffix(tmp_path: Path, name: str, pack) -> None:
    path = tmp_path / name
    path.write_bytes(pack(b"some text\n" * 1000))
    assert whole(path, LIMIT) == b"some text\n" * 1000
    with opened(path) as lines:
        assert lines.readline() == b"some text\n"


def test_several_packed_parts_one_after_another_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "parts.gz"
    path.write_bytes(gzip.compress(b"first ") + gzip.compress(b"second"))
    assert whole(path, LIMIT) == b"first second"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_data_that_is_cut_off_or_damaged_is_refused(tmp_path: Path, pack) -> None:
    packed = pack(random.Random(1).randbytes(50_000))
    path = tmp_path / "a.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(IngestError, match="damaged or cut off"):
        whole(path, LIMIT)
    path.write_bytes(packed[:20_000] + b"garbage" + packed[20_007:])
    with pytest.raises(IngestError, match="damaged or cut off"):
        whole(path, LIMIT)


def test_a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 1000)
    assert len(whole(path, 1000)) == 1000
    with pytest.raises(IngestError, match=r"ingest\.max_megabytes"):
        whole(path, 999)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_decompression_bomb_is_never_expanded(tmp_path: Path, pack) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(pack(bytes(200_000_000)))
    tracemalloc.start()
    with pytest.raises(IngestError, match="longer than 1 MB"):
        whole(path, LIMIT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_what_is_no_ordinary_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "nowhere.txt")
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    for path, reason in [
        (tmp_path, "it is a folder, not a file"),
        (tmp_path / "missing.txt", "it is not there"),
        (link, "it is a link to a file that is not there"),
        (pipe, "it is a pipe, not a file"),
    ]:
        with pytest.raises(IngestError, match=f"^{reason}$"):
            whole(path, LIMIT)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    path.chmod(0)
    with pytest.raises(IngestError, match="permission denied"):
        whole(path, LIMIT)


def test_progress_is_told_in_bytes_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(random.Random(1).randbytes(600_000)))
    seen: list[int] = []
    with opened(path, seen.append) as file:
        while file.read(100_000):
            pass
    assert seen == sorted(seen)
    assert len(seen) > 2
    assert seen[-1] == path.stat().st_size


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("annual_report-2019.txt", "annual report 2019"),
        ("notes.md.gz", "notes"),
        ("README", "README"),
        ("Letter to Dr. Smith", "Letter to Dr. Smith"),
        ("___.txt", "___.txt"),
    ],
)
def test_a_file_name_becomes_a_title(name: str, title: str) -> None:
    assert readable_name(name) == title


@pytest.mark.parametrize("encoding", ["utf_8", "utf_8_sig", "utf_16", "utf_32"])
@pytest.mark.parametrize("text", [RUSSIAN, JAPANESE, GERMAN, "plain\r\nlines\n"])
def test_unicode_with_or_without_its_mark(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ["utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be"])
@pytest.mark.parametrize("text", [RUSSIAN, GERMAN, "Plain words.\n", f"{JAPANESE}\n{JAPANESE}\n", "𝄞 clef, 😀 smile"])
def test_wide_unicode_without_a_mark(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", GERMAN),
        ("cp1252", "café"),
        ("cp1252", "A naïve approach to the “problem”."),
        ("latin_1", "Temperature 20 °C ± 3, £5 and §4"),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Praha je hlavní město České republiky."),
        ("cp1251", RUSSIAN),
        ("koi8_r", RUSSIAN.replace("—", "-")),
        ("cp866", RUSSIAN.replace("—", "-")),
        ("cp1253", "Αυτό είναι ένα ελληνικό κείμενο. Η Αθήνα είναι η πρωτεύουσα της Ελλάδας."),
        ("cp1254", "İstanbul Türkiye'nin en kalabalık şehri olan ve Boğaz kıyısında bulunan büyük şehirdir."),
        ("shift_jis", JAPANESE),
        ("euc_jp", JAPANESE),
        ("iso2022_jp", JAPANESE),
        ("gb18030", "这是一个中文文本。北京是中国的首都，也是一个很大的城市。"),
        ("big5", "這是一個中文文本。台北是一個很大的城市。這個文件用舊的編碼保存。"),
        ("euc_kr", "이것은 한국어 텍스트입니다. 서울은 대한민국의 수도이며 큰 도시입니다."),
    ],
)
def test_older_encodings_are_guessed(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text


def test_one_accented_letter_in_megabytes_of_ascii_is_seen() -> None:
    text = "A line of plain words, nothing else.\n" * 50_000 + "The café is closed.\n"
    assert decoded(text.encode("cp1252")) == text


def test_a_long_text_without_line_ends_is_detected() -> None:
    text = JAPANESE * 2000
    assert decoded(text.encode("shift_jis")) == text


def test_a_wrong_byte_in_utf8_costs_one_character_not_the_document() -> None:
    data = RUSSIAN.encode() + b"\xff" + RUSSIAN.encode()
    assert decoded(data) == f"{RUSSIAN}\ufffd{RUSSIAN}"


def test_a_stray_nul_does_not_make_text_binary() -> None:
    assert decoded(b"short\0 text") == "short\0 text"
    assert decoded(b"a long enough line of plain text\0 and some more of it, to the end.") == (
        "a long enough line of plain text\0 and some more of it, to the end."
    )


@pytest.mark.parametrize(
    "data",
    [
        random.Random(1).randbytes(5000),
        b"\x7fELF\x02\x01\x01" + bytes(9) + random.Random(2).randbytes(3000),
        b"\x89PNG\r\n\x1a\n" + random.Random(3).randbytes(3000),
        b"\xff\xfe" + random.Random(4).randbytes(3000),
        bytes(4096),
        b"name.txt" + bytes(504) + b"text of a file in an archive\n",
    ],
)
def test_binary_data_is_not_text(data: bytes) -> None:
    with pytest.raises(IngestError, match="it is not text"):
        decoded(data)


def test_nothing_decodes_to_nothing() -> None:
    assert decoded(b"") == ""
