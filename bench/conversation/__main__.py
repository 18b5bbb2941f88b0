"""Thirty follow-ups over the sample library and three documents more: python -m bench.conversation [--data DATA].

Each has earlier turns, what is typed, the whole questions that it may be rewritten to and the answers that are right.
Half of them (`tune`) could be looked at while the rules were made, the others (`report`) are for the figures. All were
written before. With --data, whole questions of SQuAD's validation articles are asked behind a turn about another
article too: they have to be left as they are.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from bench.facts import collect
from wherefrom import Library
from wherefrom.text import normalized
from wherefrom.types import Trace, Turn

HERE = Path(__file__).parent
QUESTIONS = HERE / "questions.jsonl"
DOCUMENTS = (HERE.parents[1] / "sample" / "library", HERE / "library")
HALVES = ("tune", "report")
PACKAGES = ("wherefrom", "tantivy", "numpy")


class FollowUpCase(msgspec.Struct, frozen=True):
    """One follow-up with its golds."""

    id: str
    half: str
    turns: list[Turn]
    typed: str
    whole: list[str]  # any of them is right
    answers: list[str]

    def understood(self, question: str) -> bool:
        return normalized(question) in {normalized(each) for each in self.whole}

    def answered(self, text: str | None) -> bool:
        """Whether a right answer is all of the text, or a part of it that is marked off by spaces."""
        padded = f" {normalized(text or '')} "
        return any(f" {normalized(answer)} " in padded for answer in self.answers)


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    case: FollowUpCase
    trace: Trace
    whole: Trace  # of the first whole question, asked as it is
    typed: Trace  # of what was typed, asked as it is: the baseline

    @property
    def understood(self) -> bool:
        return self.case.understood(self.trace.question.text)

    @property
    def answered(self) -> bool:
        return self.trace.answer is not None and self.case.answered(self.trace.answer.text)

    @property
    def answered_whole(self) -> bool:
        return self.whole.answer is not None and self.case.answered(self.whole.answer.text)


def cases() -> list[FollowUpCase]:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=FollowUpCase) for line in lines]


def outcomes(library: Library) -> list[CaseOutcome]:
    return [
        CaseOutcome(
            case, library.chat(turns=case.turns).ask(case.typed), library.ask(case.whole[0]), library.ask(case.typed)
        )
        for case in cases()
    ]


def figures(every: Sequence[CaseOutcome]) -> dict[str, dict[str, int]]:
    """Counts by half, and of all."""
    counted = {}
    for half in (*HALVES, "all"):
        some = [each for each in every if half in (each.case.half, "all")]
        counted[half] = {
            "questions": len(some),
            "understood": sum(each.understood for each in some),
            "answered": sum(each.answered for each in some),
            "understood and answered": sum(each.understood and each.answered for each in some),
            "answered as a whole question": sum(each.answered_whole for each in some),
            "answered as typed": sum(each.case.answered(each.typed.answer.text) for each in some if each.typed.answer),
        }
    return counted


def left_alone(library: Library, data: Path, count: int, seed: int) -> dict[str, int]:
    """How many whole questions are rewritten all the same."""
    from wherefrom.systems.followup.talks import whole_questions

    changed = 0
    for talk in whole_questions(data, count, seed):
        meaning = library.meanings(talk.typed, talk.turns)[0]
        changed += not meaning.typed
    return {"questions": count, "changed": changed, "seed": seed}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.conversation", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of datasets, for the whole questions")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures, as `python -m bench.record` reads them")
    parser.add_argument("--count", type=int, default=500, help="whole questions")
    parser.add_argument("--seed", type=int, default=2024, help="which of them; the training measures seed 7")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, Library(Path(folder) / "library") as library:
        library.ingest(DOCUMENTS)
        every = outcomes(library)
        for each in every:
            answer = each.trace.answer.text if each.trace.answer else None
            marks = (
                "understood" if each.understood else "NOT UNDERSTOOD",
                "answered" if each.answered else "not answered",
            )
            print(
                f"{each.case.id}  {each.case.typed}  ->  {each.trace.question.text}  ->  {answer}  ({', '.join(marks)})"
            )
        report = {"follow-ups": figures(every)}
        if options.data:
            report["whole questions"] = {"": left_alone(library, options.data, options.count, options.seed)}
        print(json.dumps(report, indent=2))
        if options.out:
            options.out.write_text(
                json.dumps({"facts": msgspec.to_builtins(asdict(collect(PACKAGES))), **report}, indent=2),
                encoding="utf-8",
            )


if __name__ == "__main__":
    main()
