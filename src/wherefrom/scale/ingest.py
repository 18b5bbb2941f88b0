"""Files are read and cut by many workers, and written into the library by this process alone.

Everything but the reading is what one process does (`wherefrom.ingest.run`): what is unchanged is skipped, what cannot
be read is named, batches are acknowledged, and a run that was interrupted goes on. Each worker reads in a process of
its own within bounds, as ever, so that a file made to do harm costs itself alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from wherefrom.config import IngestSettings, SplitSettings
from wherefrom.errors import IngestError, NotStarted
from wherefrom.ingest.messages import ParsedRecord
from wherefrom.ingest.outcome import IngestFailure
from wherefrom.ingest.parsing import Expected, FilesReader, Parser
from wherefrom.ingest.passing import Passing
from wherefrom.ingest.run import IngestProgress, IngestReport
from wherefrom.ingest.run import ingest as ingest_by
from wherefrom.ingest.split import split
from wherefrom.library import Library
from wherefrom.scale.workers import cluster, mapped
from wherefrom.text import Span
from wherefrom.types import sections_of

_TRIES = 5  # to begin a process that reads, a minute each
_MOST_CHARACTERS = 64_000_000  # whose passages are kept; two batches, and what is cut again costs little


def ingest(
    library: Library,
    paths: Iterable[str | Path],
    workers: int,
    address: str = "",
    prune: bool = False,
    report: Callable[[IngestProgress], None] = lambda _: None,
    acknowledged: Callable[[Sequence[str]], None] = lambda _: None,
    force: bool = False,
    tags: Sequence[str] = (),
) -> IngestReport:
    """`Library.ingest`, with files read by so many workers; those of the cluster at `address`, or of this machine.

    The workers of other machines read the files from the same paths.
    """
    with cluster(workers, address):
        folder = library.folder(create=True)
        cut = _Cut()

        @contextmanager
        def reading(settings: IngestSettings) -> Iterator[FilesReader]:
            yield _WorkersReader(settings, folder.settings.split, workers, cut)

        def safe(ids: Sequence[str]) -> None:
            cut.clear()
            acknowledged(ids)

        before, folder.split = folder.split, cut
        try:
            named = [Path(path) for path in paths]
            return ingest_by(
                folder, named, library.settings().ingest, prune, report, safe, force, tags, reading=reading
            )
        finally:
            folder.split = before


# ------------------------------------------------------------------------------------------ between the processes


class _Wanted(msgspec.Struct, array_like=True, frozen=True):
    """A file that a worker is to read."""

    path: bytes
    folder: bytes  # that the path is relative to
    known: bytes | None
    by_kind: bool


class _Facts(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """What is told of a file before its text; where a reason is given, that could not be known."""

    hash: bytes = b""
    no_hash: str = ""
    kind: str | None = None
    no_kind: str = ""


class _Text(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """A text of a file, and where its passages are."""

    parsed: ParsedRecord
    passages: list[Span]


class _Fault(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """A part of a file that could not be read."""

    failure: IngestFailure


class _End(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """A file is done; with a reason it could not be read, or not to its end."""

    reason: str = ""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[_Facts | _Text | _Fault | _End] = msgspec.msgpack.Decoder(
    _Facts | _Text | _Fault | _End
)


# --------------------------------------------------------------------------------------------------- in a worker


class ReadFiles:
    """Reads one file after the other and cuts it into passages."""

    def __init__(self, settings: IngestSettings, splitting: SplitSettings, language: bool) -> None:
        self._settings = settings
        self._splitting = splitting
        self._language = language
        self._parser = Parser(settings)

    def __call__(self, item: bytes) -> Iterator[bytes]:
        wanted = msgspec.msgpack.decode(item, type=_Wanted)
        if wanted.folder:
            with suppress(OSError):  # gone since, or not on this machine: then the file is not either, and says so
                os.chdir(wanted.folder)
        path = Path(os.fsdecode(wanted.path))
        facts = self._patiently(path, wanted)
        yield _ENCODER.encode(facts)
        if facts.no_hash or facts.no_kind or facts.hash == wanted.known or self._passed_over(path, wanted, facts):
            yield _ENCODER.encode(_End())
            return
        reason = ""
        try:
            for outcome in self._parser.read(path, language=self._language):
                if isinstance(outcome, IngestFailure):
                    yield _ENCODER.encode(_Fault(outcome))
                else:
                    sections = sections_of(outcome.record.places)
                    yield _ENCODER.encode(_Text(outcome, split(outcome.record.text, self._splitting, sections)))
        except IngestError as error:
            reason = str(error)
        yield _ENCODER.encode(_End(reason))

    def _patiently(self, path: Path, wanted: _Wanted) -> _Facts:
        """On a machine that has much else to do, a reading process may take more than one try to begin."""
        for _ in range(_TRIES - 1):
            with suppress(NotStarted):
                return self._facts(path, wanted)
        return self._facts(path, wanted)

    def _facts(self, path: Path, wanted: _Wanted) -> _Facts:
        kind, no_kind = None, ""
        if wanted.by_kind:
            try:
                kind = self._parser.kind(path)
            except IngestError as error:
                no_kind = str(error)
        try:
            return _Facts(self._parser.hash(path), "", kind, no_kind)
        except IngestError as error:
            return _Facts(b"", str(error), kind, no_kind)

    def _passed_over(self, path: Path, wanted: _Wanted, facts: _Facts) -> bool:
        return wanted.by_kind and Passing(self._settings).by_kind(path.name, facts.kind)


# ---------------------------------------------------------------------------------------------- in this process


class _WorkersReader:
    """Gives an ingest the files that workers have read, in the order in which it asks for them."""

    def __init__(self, settings: IngestSettings, splitting: SplitSettings, workers: int, cut: _Cut) -> None:
        self._settings = settings
        self._splitting = splitting
        self._workers = workers
        self._cut = cut
        self._numbers: dict[Path, int] = {}
        self._results: Iterator[tuple[int, bytes]] = iter(())
        self._number = -1
        self._facts = _Facts()
        self._ended = True

    def expect(self, files: Iterable[Expected], language: bool) -> None:
        folder = os.fsencode(Path.cwd())
        items = []
        for number, file in enumerate(files):
            self._numbers[file.path] = number
            path = os.fsencode(file.path)
            beside = b"" if file.path.is_absolute() else folder
            items.append(_ENCODER.encode(_Wanted(path, beside, file.known, file.by_kind)))
        self._results = mapped(ReadFiles, (self._settings, self._splitting, language), items, self._workers)

    def hash(self, path: Path) -> bytes:
        self._reach(path)
        if self._facts.no_hash:
            raise IngestError(self._facts.no_hash)
        return self._facts.hash

    def kind(self, path: Path) -> str | None:
        self._reach(path)
        if self._facts.no_kind:
            raise IngestError(self._facts.no_kind)
        return self._facts.kind

    def read(
        self,
        path: Path,
        reached: Callable[[int], None] = lambda _: None,  # noqa: ARG002 - a file comes as a whole
        language: bool = False,  # noqa: ARG002 - was said of all files
    ) -> Iterator[ParsedRecord | IngestFailure]:
        self._reach(path)
        while not self._ended:
            _, result = next(self._results)
            message = _DECODER.decode(result)
            if isinstance(message, _Text):
                record = message.parsed.record
                self._cut.keep(record.text, sections_of(record.places), message.passages)
                yield message.parsed
            elif isinstance(message, _Fault):
                yield message.failure
            elif isinstance(message, _End):
                self._ended = True
                if message.reason:
                    raise IngestError(message.reason)

    def _reach(self, path: Path) -> None:
        """Go on to a file; those before it that were not asked for to their end are passed over."""
        wanted = self._numbers[path]
        while self._number < wanted:
            self._number, result = next(self._results)
            if self._number == wanted:
                facts = _DECODER.decode(result)
                assert isinstance(facts, _Facts)
                self._facts, self._ended = facts, False


class _Cut:
    """Cuts texts; those that workers have read are cut already."""

    def __init__(self) -> None:
        self._passages: dict[tuple[str, tuple[int, ...]], list[Span]] = {}
        self._characters = 0

    def keep(self, text: str, sections: Sequence[int], passages: list[Span]) -> None:
        self._characters += len(text)
        if self._characters > _MOST_CHARACTERS:  # of documents that have not changed, and are never written
            self.clear()
        self._passages[text, tuple(sections)] = passages

    def clear(self) -> None:
        self._passages.clear()
        self._characters = 0

    def __call__(self, text: str, settings: SplitSettings, sections: Sequence[int] = ()) -> list[Span]:
        passages = self._passages.get((text, tuple(sections)))
        return split(text, settings, sections) if passages is None else passages
