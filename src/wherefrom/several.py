"""Several libraries that are asked at once: the answer that is judged best is given, with the library it is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from wherefrom.config import Settings
from wherefrom.errors import NotFound, SettingsError
from wherefrom.library import Library
from wherefrom.types import Filter, Hit, Question, Style, Trace

if TYPE_CHECKING:
    from wherefrom.pipeline import Pipeline
    from wherefrom.stages import OnWords


@dataclass(frozen=True, slots=True)
class LibraryTrace:
    """A question's trip through one of the libraries, which goes by this name."""

    library: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class SeveralTraces:
    """The trip whose answer is given, and those through the other libraries, likeliest first.

    Of those the answers are judged and not written: the first candidate is what they would say.
    """

    best: LibraryTrace
    others: tuple[LibraryTrace, ...]


class Libraries:
    """Libraries by name; nothing is opened before it is needed, and their networks are loaded once for all.

    Each finds, reads and judges for itself, so that a small library is not drowned by a large one: what is compared is
    the chance that an answer is right, which means the same in all. A question takes as long as all of them together.
    """

    def __init__(self, libraries: Mapping[str, Library]) -> None:
        if not libraries:
            raise SettingsError("name at least one library")
        self._libraries = dict(libraries)

    @classmethod
    def at(cls, paths: Sequence[str | Path], settings: Settings | None = None) -> Libraries:
        """Those in these folders; they go by their folders' names, or by their paths where two names are the same."""
        folders = list(dict.fromkeys(Path(path).expanduser() for path in paths))
        names = [folder.absolute().name for folder in folders]
        return cls(
            {
                name if names.count(name) == 1 else str(folder): Library(folder, settings)
                for name, folder in zip(names, folders, strict=True)
            }
        )

    def __getitem__(self, name: str) -> Library:
        return self._libraries[name]

    def ask(
        self,
        question: str,
        style: Style | None = None,
        k: int | None = None,
        min_chance: float | None = None,
        heard: OnWords | None = None,
        within: Filter | None = None,
    ) -> SeveralTraces:
        """Answer from the library whose answer is likeliest to be right; where all are too unlikely, it declines.

        A library in which no document fits `within` is passed over; where that is all of them, it is an error.
        """
        wanted = Question("", question, within)
        judged: list[tuple[LibraryTrace, Pipeline]] = []
        for name, pipeline in self._fitting(k, within):
            this_style = style or self._libraries[name].settings().write.style
            (trace,) = pipeline.judge_many(pipeline.read_many(pipeline.search_many([wanted])), this_style)
            judged.append((LibraryTrace(name, trace), pipeline))
        judged.sort(key=lambda pair: -_chance(pair[0].trace))  # of equal ones the library that was named first
        written = [self._written(each, pipeline, min_chance, heard) for each, pipeline in judged[:1]]
        for each, pipeline in judged[1:]:
            if written[-1].trace.answer is not None and not written[-1].trace.answer.declined:
                break  # else its writer has nothing to say after all, or it is too unlikely, as are those behind it
            written.append(self._written(each, pipeline, min_chance, heard))
        last = written[-1].trace.answer
        chosen = len(written) - 1 if last is not None and not last.declined else 0
        others = [each for place, (each, _) in enumerate(judged) if place != chosen]
        return SeveralTraces(written[chosen], tuple(others))

    @staticmethod
    def _written(
        each: LibraryTrace, pipeline: Pipeline, min_chance: float | None, heard: OnWords | None
    ) -> LibraryTrace:
        assert each.trace.answer is not None
        (trace,) = pipeline.write_many([each.trace], each.trace.answer.style, min_chance, heard)
        return LibraryTrace(each.library, trace)

    def search(self, question: str, k: int | None = None, within: Filter | None = None) -> list[tuple[str, Hit]]:
        """The best passages of all of them, each with the name of its library."""
        hits: list[tuple[str, Hit]] = []
        most = 0
        for name, pipeline in self._fitting(k, within):
            (trace,) = pipeline.search_many([Question("", question, within)])
            most = max(most, k or self._libraries[name].settings().retrieve.k)
            hits += [(name, hit) for hit in trace.hits]
        return sorted(hits, key=lambda pair: (-pair[1].score, pair[0], pair[1].passage.id))[:most]

    def close(self) -> None:
        with ExitStack() as closing:
            for library in self._libraries.values():
                closing.callback(library.close)

    def __enter__(self) -> Libraries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fitting(self, k: int | None, within: Filter | None) -> Iterator[tuple[str, Pipeline]]:
        """The libraries in which any document fits, with their stages."""
        first: Library | None = None
        nothing: NotFound | None = None
        for name, library in self._libraries.items():
            try:
                if within:
                    library.check_fits(within)
            except NotFound as error:
                nothing = error
                continue
            pipeline = library.pipeline(k, like=first)
            first = first or library
            yield name, pipeline
        if first is None and nothing is not None:
            raise nothing


def _chance(trace: Trace) -> float:
    return trace.answer.chance if trace.answer else 0.0
