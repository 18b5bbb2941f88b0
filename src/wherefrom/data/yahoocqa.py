"""YahooCQA: questions of Yahoo! Answers with one right answer and four that a search found for it.

Tay et al. 2017; 50,112 / 6,289 / 6,283 questions with five candidates each. Two forms: the release of its authors, a
Python pickle (`env.pkl`) of all splits, and rows of question, answer, label.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from wherefrom.data.examples import Example
from wherefrom.data.faults import DatasetError, RecordPlace
from wherefrom.data.opening import Files, open_bytes, readable, split_file, split_name
from wherefrom.data.pairs import binary, candidates, from_tsv

FILES: Files = {
    "train": ("yahoo*_train.tsv", "train.tsv", "env.pkl"),
    "dev": ("yahoo*_valid.tsv", "valid.tsv", "dev.tsv", "env.pkl"),
    "test": ("yahoo*_test.tsv", "test.tsv", "env.pkl"),
}

_Splits = dict[str, dict[str, list[tuple[str, int]]]]  # split -> question -> candidates with labels


def load(path: Path, split: str) -> Iterator[Example]:
    """YahooCQA; of a pickle the split is taken even if `path` is the file itself."""
    file = split_file(path, split, FILES)
    if ".pkl" in file.suffixes:
        return _from_pickle(file, split_name(split, FILES))
    return from_tsv(file, "yahoocqa")


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values only: a pickle that names any class or function could run code, and is refused."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def _from_pickle(path: Path, split: str) -> Iterator[Example]:
    splits = _plain_splits(path)
    if split not in splits:
        raise DatasetError(f"{path}: expected a split {split}; there are {', '.join(splits)}")
    for number, (question, answers) in enumerate(splits[split].items(), start=1):
        place = RecordPlace(path, number, "question")
        labels = [binary(label, place) for _, label in answers]
        yield candidates(f"yahoocqa-{number}", question.strip(), [answer.strip() for answer, _ in answers], labels)


def _plain_splits(path: Path) -> _Splits:
    try:
        return msgspec.convert(_unpickled(path), _Splits)
    except msgspec.ValidationError as error:
        raise DatasetError(f"{path}: {error}") from error


def _unpickled(path: Path) -> Any:
    for encoding in ("utf-8", "latin-1"):  # of the texts, which Python 2 wrote as bytes
        with readable(path), open_bytes(path) as handle:
            try:
                return _PlainUnpickler(handle, encoding=encoding).load()
            except UnicodeDecodeError:
                continue
            except (pickle.UnpicklingError, EOFError, ValueError, IndexError) as error:
                raise DatasetError(
                    f"{path}: expected a pickle of dictionaries, lists, texts and numbers: {error}"
                ) from error
    raise AssertionError("Latin-1 decodes anything")
