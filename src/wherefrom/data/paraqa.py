"""ParaQA: VQuAnDa's questions with up to eight sentences each that say the same (Kacupaj et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.bracketed import is_form, unbracketed
from wherefrom.data.examples import Example
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.types import Question

FILES: Files = {"train": ("train.json",), "test": ("test.json",)}


class _Record(msgspec.Struct):
    uid: str | int
    question: str
    verbalized_answer: str
    verbalized_answer_2: str = ""
    verbalized_answer_3: str = ""
    verbalized_answer_4: str = ""
    verbalized_answer_5: str = ""
    verbalized_answer_6: str = ""
    verbalized_answer_7: str = ""
    verbalized_answer_8: str = ""


def load(path: Path, split: str) -> Iterator[Example]:
    """ParaQA; the short answer is the one of the first sentence, before it was paraphrased."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for place, record in json_records(path, _Record):
        fields = [value for name, value in msgspec.structs.asdict(record).items() if name.startswith("verbalized")]
        # The paraphrases of a form are forms too, but they say [the answer], [more] or [2].
        pairs = [("", "")] if any(map(is_form, fields)) else [unbracketed(value) for value in fields]
        answer = pairs[0][1]
        yield Example(
            Question(ids.once(str(record.uid), place, "uid"), record.question.strip()),
            answers=(answer,) if answer else (),
            sentences=tuple(dict.fromkeys(sentence for sentence, _ in pairs if sentence)),
        )
