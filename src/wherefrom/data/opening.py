"""Files of a dataset: found by name, unpacked as they are read, cut into records.

Blank lines between records are passed over, as every publisher's own script does. All else that does not
fit is a `DatasetError` that names the file, the line or record, and the field.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar, cast

import msgspec

from wherefrom.data.faults import DatasetError, RecordPlace, choice

Record = TypeVar("Record")
Files = Mapping[str, Sequence[str]]  # split -> the names its file may have, as glob patterns, preferred first

_PACKED = ("", ".gz", ".xz", ".bz2")  # plain first: where a file lies packed and unpacked, it is read once
_SAME_SPLIT = ("dev", "valid", "val", "validation", "devel")  # publishers' words for one thing
_BOM = b"\xef\xbb\xbf"


# Finding.


def split_files(path: Path, split: str, files: Files) -> list[Path]:
    """The files of a split below the folder `path`; or `path` itself if it is a file, whatever the split."""
    if path.is_file():
        return [path]
    return named_files(path, files[split_name(split, files)])


def split_file(path: Path, split: str, files: Files) -> Path:
    """As `split_files`, for datasets that keep a split in one file."""
    return split_files(path, split, files)[0]


def split_name(split: str, known: Files) -> str:
    """The dataset's own name of a split: `dev`, `val` and `valid` are one thing."""
    if split not in known and split in _SAME_SPLIT:
        split = next((name for name in known if name in _SAME_SPLIT), split)
    return choice("split", split, known)


def named_files(folder: Path, names: Sequence[str]) -> list[Path]:
    """The files of a folder that have the first of these names that any has."""
    wanted = " or ".join(names)
    if not folder.exists():
        raise DatasetError(f"{folder} does not exist; expected a folder with {wanted}, or that file itself")
    if not folder.is_dir():
        raise DatasetError(f"{folder} is a single file; expected the folder that holds {wanted}")
    for name in names:
        matches: dict[str, Path] = {}
        for packed in _PACKED:
            for file in sorted(folder.glob(name + packed)):
                matches.setdefault(str(file).removesuffix(packed), file)
        if matches:
            return [matches[plain] for plain in sorted(matches)]
    raise DatasetError(f"{folder} holds no {wanted} (plain, .gz, .xz or .bz2)")


# Reading.


def open_bytes(path: Path) -> IO[bytes]:
    """The file's content, unpacked if its first bytes say that it is packed; its name does not matter."""
    with readable(path):
        with path.open("rb") as handle:
            magic = handle.read(6)
        if magic.startswith(b"\x1f\x8b"):
            return cast(IO[bytes], gzip.open(path))
        if magic == b"\xfd7zXZ\x00":
            return cast(IO[bytes], lzma.open(path))
        if magic.startswith(b"BZh"):
            return cast(IO[bytes], bz2.open(path))
        return path.open("rb")


def read_bytes(path: Path) -> bytes:
    """All of a file, unpacked."""
    with readable(path), open_bytes(path) as handle:
        return handle.read().removeprefix(_BOM)


def read_text(path: Path) -> str:
    """All of a text file: UTF-8, or Latin-1 as newswire of the nineties is written."""
    content = read_bytes(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n")


def byte_lines(path: Path) -> Iterator[tuple[RecordPlace, bytes]]:
    """The lines that are not blank, one at a time."""
    with readable(path), open_bytes(path) as handle:
        for number, line in enumerate(handle, start=1):
            line = line.removeprefix(_BOM) if number == 1 else line
            if line.strip(b" \r\n"):  # tabs alone are a row of empty fields, not a blank line
                yield RecordPlace(path, number), line.rstrip(b"\r\n")


def text_lines(path: Path) -> Iterator[tuple[RecordPlace, str]]:
    """The lines that are not blank, as UTF-8 text; only a line feed ends a line."""
    for place, line in byte_lines(path):
        try:
            yield place, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise place.fault(f"expected UTF-8 text; byte {error.start + 1} of the line is not") from error


def tsv_rows(path: Path, columns: Sequence[str], header: bool = True) -> Iterator[tuple[RecordPlace, dict[str, str]]]:
    """The rows of tab-separated values by column; quotation marks are text, not syntax."""
    lines = text_lines(path)
    if header:
        place, first = next(lines, (RecordPlace(path, 1), ""))
        if first.split("\t") != list(columns):
            raise place.fault(f"expected the columns {', '.join(columns)}, not {first[:200]!r}")
    for place, line in lines:
        fields = line.split("\t")
        if len(fields) != len(columns):
            raise place.fault(f"expected {len(columns)} fields ({', '.join(columns)}), not {len(fields)}")
        yield place, dict(zip(columns, fields, strict=True))


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[RecordPlace, dict[str, str]]]:
    """The rows of comma-separated values by column; other columns may be there too."""
    reader = csv.reader(_csv_lines(path), strict=True)
    names: list[str] | None = None
    while True:
        place = RecordPlace(path, reader.line_num + 1)
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise place.fault(f"expected comma-separated values: {error}") from error
        if fields is None:
            break
        if not fields:
            continue
        if names is None:
            names = fields
            missing = [column for column in columns if column not in names]
            if missing:
                raise place.fault(f"expected a column {missing[0]}; there are {', '.join(names)}")
        elif len(fields) != len(names):
            raise place.fault(f"expected {len(names)} fields ({', '.join(names)}), not {len(fields)}")
        else:
            yield place, dict(zip(names, fields, strict=True))
    if names is None:
        raise RecordPlace(path, 1).fault(f"expected the columns {', '.join(columns)}; the file is empty")


def json_records(path: Path, kind: type[Record], strict: bool = True) -> Iterator[tuple[RecordPlace, Record]]:
    """The records of a JSON list or of JSON lines, whichever the file holds; lines are streamed.

    Without `strict`, a number may also be written as text.
    """
    decoder = msgspec.json.Decoder(kind, strict=strict)
    if starts_with(path, b"["):
        for number, raw in enumerate(decoded(read_bytes(path), list[msgspec.Raw], path), start=1):
            place = RecordPlace(path, number, "record")
            yield place, decoded(raw, decoder, place)
    else:
        for place, line in byte_lines(path):
            yield place, decoded(line, decoder, place)


def decoded(
    content: bytes | msgspec.Raw, kind: type[Record] | msgspec.json.Decoder[Record], where: RecordPlace | Path
) -> Record:
    """JSON as the given type; the error names the field (`$.passages[3].is_selected`) and what was expected."""
    decoder = kind if isinstance(kind, msgspec.json.Decoder) else msgspec.json.Decoder(kind)
    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DatasetError(f"{where}: {error}") from error


def starts_with(path: Path, mark: bytes) -> bool:
    """Whether the first thing in the file, white space aside, is `mark`."""
    with readable(path), open_bytes(path) as handle:
        return handle.read(1024).removeprefix(_BOM).lstrip().startswith(mark)


def _csv_lines(path: Path) -> Iterator[str]:
    """Every line with its line end, blank ones too: a quoted field may run over several."""
    with readable(path), open_bytes(path) as handle:
        for number, line in enumerate(handle, start=1):
            try:
                yield (line.removeprefix(_BOM) if number == 1 else line).decode("utf-8")
            except UnicodeDecodeError as error:
                raise RecordPlace(path, number).fault("expected UTF-8 text") from error


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Says which file it was when reading or unpacking fails."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise DatasetError(f"{path} is cut short or damaged: {error}") from error
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror or error}") from error
