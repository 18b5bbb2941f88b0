"""Runs the rows of the paper rankqa: a library is asked, a re-ranker trained, its first answers counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wherefrom.config import Settings, to_mapping, updated
from wherefrom.errors import SettingsError
from wherefrom.papers.faults import TableFault
from wherefrom.papers.runner import Outcome
from wherefrom.papers.table import Row

SYSTEM = "rankqa"


class RankQARows:
    """A row is the settings of a pipeline and, under `training.rankqa`, how its re-ranker is trained.

    A row without training is the reader itself. All rows are measured on the same questions: those of the articles
    that the re-rankers did not learn from. Rows that read alike share their candidates.
    """

    def __init__(
        self, data: Path, library: Path, work: Path, every: int = 1, say: Callable[[str], None] = print
    ) -> None:
        self._data = data
        self._library = library
        self._work = work
        self._every = every
        self._say = say

    def __call__(self, row: Row) -> Outcome:
        from wherefrom.library import Library
        from wherefrom.systems.rankqa.system import RankQAMaker, Variant, reading
        from wherefrom.systems.rankqa.task import RankQARecipe

        assert row.recipe is not None, f"{row.id} was not refused"
        given = row.recipe.training.get(SYSTEM)
        try:
            recipe = updated(RankQARecipe(), given if isinstance(given, dict) else {}, row.recipe.file)
        except SettingsError as error:
            raise TableFault(f"{row.paper}/settings/{error}") from error
        library = Library(self._library, reading(row.recipe.settings))
        out = self._work / folder_of(row.recipe.settings)
        if given is None:  # the reader's own answers need no tags
            recipe = replace(recipe, task=replace(recipe.task, groups=("retrieval", "reading", "aggregation")))
        maker = RankQAMaker(recipe, self._data, library, out, self._every, say=self._say)
        maker.candidates()
        found = maker.readers() if given is None else maker.accuracy(Variant(row.id, recipe))
        shares = {"accuracy": found.em / 100, "em": found.em / 100, "f1": found.f1 / 100}
        return Outcome(shares, recipe.loop.seed, (out / "candidates.jsonl",))


def folder_of(settings: Settings) -> str:
    """A name for the candidates that these settings read."""
    sections = to_mapping(settings)
    return f"{sections['retrieve']['kind']}-{sections['read']['kind']}-{sections['rerank']['candidates']}"
