"""Runs the rows of the papers masque and preast: what their writers say in validation is scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherefrom.evaluate.ensemble import voted
from wherefrom.evaluate.texts import NARRATIVE, Line, References, groups_of, questions, scored, text_scores, told
from wherefrom.papers.faults import PaperError, TableFault
from wherefrom.papers.runner import Outcome
from wherefrom.papers.table import Paper, Row
from wherefrom.papers.writer_runs import Fetch, Files, WriterRun, WriterRuns
from wherefrom.systems.masque.recipe import WriterRecipe
from wherefrom.train import pretrained as encoders
from wherefrom.train.writing.material import load, with_synthetic

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Scores = Mapping[str, Mapping[str, Any]]  # as `writer_texts.scored` gives them, in percent

_WRITTEN = ("rouge_l", "bleu_1", "bleu_4", "meteor", "exact")
_ELSEWHERE = {  # measure to the part of the scores it is in, and its name there
    "qa_rouge_l": ("short", "rouge_l"),
    "qa_bleu_1": ("short", "bleu_1"),
    "map": ("passages", "map"),
    "mrr": ("passages", "mrr"),
    "answerable_f1": ("passages", "answerable_f1"),
    "threshold": ("passages", "threshold"),
    "flipped": ("passages", "flipped"),
    "zero_overlap": ("styles", "zero_overlap"),
}


class WriterRows:
    """A row is, under `training.writer`, a training and what of it is scored; see `train/writer_recipe.py`.

    `work` holds the material and the runs, see `writer_runs`. `device` trains runs that are not there.
    """

    def __init__(
        self,
        paper: Paper,
        work: Path,
        pretrained: Path | None = None,
        device: str | None = None,
        say: Callable[[str], None] = print,
        fetch: Fetch = encoders.fetch,
    ) -> None:
        self._files = Files(work, pretrained or work / "pretrained", fetch)
        self._runs = WriterRuns(paper, self._files, device, say)
        self._say = say
        self._scored: dict[Path, Scores] = {}

    def __call__(self, row: Row) -> Outcome:
        assert row.recipe is not None, f"{row.id} was not refused"
        file = row.recipe.file
        files = (self._files.material, self._files.texts)
        if "group_share" in row.reported:  # of what style transfer wrote, whatever it says in validation
            share = self._share_of_synthetic(row.group)
            return Outcome({"group_share": share}, self._runs.of(file)[0].seed, (*files, self._files.synthetic))
        runs = self._runs.made(file)
        metrics = self._metrics(row, self._runs.recipe(file), runs)
        synthetic = [self._files.synthetic] if runs[0].training.synthetic != "none" else []
        return Outcome(metrics, runs[0].seed, (*files, *synthetic, *(path for run in runs for path in run.files)))

    def _metrics(self, row: Row, recipe: WriterRecipe, runs: Sequence[WriterRun]) -> dict[str, float]:
        """Every measure that the row reports, shares from 0 to 1."""
        written = self._written(row, recipe, runs) if any(name in _WRITTEN for name in row.reported) else {}
        found: dict[str, float] = {}
        for name in row.reported:
            if name in written:
                found[name] = written[name] / 100
            elif name in _ELSEWHERE and not row.group:
                value = self._value(runs[0], *_ELSEWHERE[name])
                found[name] = value if name == "threshold" else value / 100
            elif name == "rouge_l_change":
                found[name] = self._change(recipe, runs[0])
            else:
                raise PaperError(f"{name} cannot be measured of {runs[0].said}")
        return found

    def _written(self, row: Row, recipe: WriterRecipe, runs: Sequence[WriterRun]) -> Mapping[str, Any]:
        """Scores of the answers that the row is about."""
        asked, against = _asked(row, recipe, runs[0])
        parts = [self._part(run, asked) for run in runs]
        said: Mapping[int, str] = parts[0]["said"]
        if len(parts) > 1:
            said = voted([part["said"] for part in parts], [part["rouge_l"] for part in parts])
        if row.group:
            total, of = len(said), self._texts
            said = {example: text for example, text in said.items() if row.group in groups_of(of[example]["question"])}
            if not said:
                raise PaperError(f"none of the {total:,} questions that were asked is of the group {row.group!r}")
        return {
            name: value for name, value in text_scores(asked, said, self._texts, against).items() if name in _WRITTEN
        }

    def _change(self, recipe: WriterRecipe, run: WriterRun) -> float:
        """The ROUGE-L of style transfer, less that of the run it is measured against."""
        if not recipe.against:
            raise TableFault(f"{run.folder.name}: against is missing; it names the settings that a change is against")
        (other,) = self._runs.made(recipe.against)
        return (self._value(run, "told", "rouge_l") - self._value(other, "told", "rouge_l")) / 100

    def _share_of_synthetic(self, group: str) -> float:
        """The share of a group among the questions that have a synthetic sentence."""
        material = with_synthetic(load(self._files.material), self._files.synthetic, descriptive=True)
        asked = questions(self._files.texts)
        groups = [groups_of(asked[int(example)]) for example in (material["synthetic"] >= 0).nonzero()[0]]
        if not groups:
            raise PaperError(f"{self._files.synthetic} has no sentence for a question without a gold one")
        return sum(group in each for each in groups) / len(groups)

    def _value(self, run: WriterRun, asked: str, name: str) -> float:
        found = self._part(run, asked).get(name)
        if found is None:
            raise PaperError(f"{name} cannot be measured of {run.said}; without that file --device asks again")
        return float(found)

    def _part(self, run: WriterRun, asked: str) -> Mapping[str, Any]:
        if run.folder not in self._scored:
            self._say(f"{run.folder.name}: scoring")
            lines = [json.loads(line) for line in run.said.read_text(encoding="utf-8").splitlines()]
            unknown = [line["example"] for line in lines if line["example"] not in self._texts]
            if unknown:
                raise PaperError(f"{run.said} tells of example {unknown[0]}, which {self._files.texts} does not know")
            self._scored[run.folder] = scored(lines, self._texts, self._tokenizer)
        scores = self._scored[run.folder]
        if asked not in scores:
            raise PaperError(f"{run.said} has nothing asked for as {asked!r}; without that file --device asks again")
        return scores[asked]

    @cached_property
    def _texts(self) -> Mapping[int, Line]:
        return told(self._files.texts)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        found: Tokenizer = Tokenizer.from_file(str(self._files.minilm / "tokenizer.json"))
        return found


def _asked(row: Row, recipe: WriterRecipe, run: WriterRun) -> tuple[str, References]:
    """Which answers are scored, by how they were asked for, and against what.

    Masque answers either task of MS MARCO in either style: then on the questions that have both references.
    """
    if run.training.preset == "transfer":
        return "told", "sentences"
    if recipe.answers in NARRATIVE:
        return recipe.answers, "answers"
    if row.split.startswith("Q&A"):
        return ("short" if recipe.answers == "short" else "sentence"), "answers"
    return ("short of sentence" if recipe.answers == "short" else "sentence"), "sentences"
