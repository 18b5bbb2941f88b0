"""Files are brought into a library, a batch at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest.outcome import IngestFailure, Record
from wherefrom.ingest.parsing import Expected, FilesReader, parser
from wherefrom.ingest.passing import PassedOver, Passing
from wherefrom.ingest.prune import Pruning
from wherefrom.ingest.walk import InputFile, shown_path, walk
from wherefrom.store.library import LibraryFolder
from wherefrom.store.rows import content_hash
from wherefrom.store.within import tag_name
from wherefrom.types import Document

_BATCH_CHARACTERS = 32_000_000  # few but very long documents fill a batch too


Reading = Callable[[IngestSettings], AbstractContextManager[FilesReader]]


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far an ingest has come; bytes are those of the files on disk."""

    files: int
    files_in_all: int
    bytes: int
    bytes_in_all: int
    documents: int
    current: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did. `unchanged` counts documents, or whole files that did not have to be read."""

    added: int
    replaced: int
    unchanged: int
    removed: tuple[str, ...]
    ignored: tuple[str, ...]  # files in folders of a kind that is not read, such as pictures
    taken_over: tuple[str, ...]  # ids that came from another file before
    failures: tuple[IngestFailure, ...]
    documents: int  # in the library now
    passages: int
    seconds: float
    warnings: tuple[IngestFailure, ...] = ()  # what was read, and may still not be of use
    passed_over: tuple[PassedOver, ...] = ()  # the ignored files, by their sorts


@dataclass
class _Tally:
    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    ignored: list[str] = field(default_factory=list)
    taken_over: list[str] = field(default_factory=list)
    failures: list[IngestFailure] = field(default_factory=list)
    warnings: list[IngestFailure] = field(default_factory=list)


def ingest(
    folder: LibraryFolder,
    paths: Sequence[Path],
    settings: IngestSettings,
    prune: bool = False,
    report: Callable[[IngestProgress], None] = lambda _: None,
    acknowledged: Callable[[Sequence[str]], None] = lambda _: None,
    force: bool = False,
    tags: Sequence[str] = (),
    reading: Reading = parser,
) -> IngestReport:
    """Read files and folders into the library; what cannot be read is named in the report and skipped.

    Interrupted at any instant, it keeps every batch that was written; run again, it skips what is there.
    With `prune`, documents whose file, or whose record in a file, has gone are removed: not where most of what is known
    of a path would go, unless `force`. `acknowledged` is called with the ids of documents as soon as they are safe.
    All of them, unchanged ones too, are given the `tags`. `reading` is what files are read with: several workers, say.
    """
    run = _Run(folder, settings, report, acknowledged, [tag_name(tag) for tag in tags])
    pruning = Pruning(folder.store, paths, force) if prune else None
    if pruning:
        pruning.refuse_lost_files()  # before anything is read: the disk may not be mounted
    return _ingested(run, lambda: list(walk(paths)), lambda run: run.gone(pruning) if pruning else [], reading)


def ingest_sent(
    folder: LibraryFolder,
    files: Mapping[str, Path],
    settings: IngestSettings,
    report: Callable[[IngestProgress], None] = lambda _: None,
    acknowledged: Callable[[Sequence[str]], None] = lambda _: None,
) -> IngestReport:
    """Read files that were sent under a name into the library, in place of what had that name before.

    A file's name is its document's id. Records that an earlier file of that name had and this one has not are removed.
    """
    return _ingested(
        _Run(folder, settings, report, acknowledged),
        lambda: [InputFile(path, name, named=True, sent=True) for name, path in files.items()],
        lambda run: run.left_over(),
    )


def ingest_changes(
    folder: LibraryFolder,
    files: Sequence[InputFile],
    leaving: Sequence[str],
    settings: IngestSettings,
    report: Callable[[IngestProgress], None] = lambda _: None,
) -> IngestReport:
    """Read files that are new or have changed; remove the documents `leaving`, and those that a file is now without."""
    run = _Run(folder, settings, report, lambda _: None)
    return _ingested(run, lambda: files, lambda run: [*run.leaving(leaving), *run.left_over()])


def _ingested(
    run: _Run,
    list_files: Callable[[], Sequence[InputFile | IngestFailure]],
    gone: Callable[[_Run], Sequence[str]],
    reading: Reading = parser,
) -> IngestReport:
    begun = time.perf_counter()
    folder, tally = run.folder, run.tally
    with folder.writing():
        files = list_files()
        tally.failures += [each for each in files if isinstance(each, IngestFailure)]
        with reading(run.settings) as files_parser:
            run.files([each for each in files if isinstance(each, InputFile)], files_parser)
        leaving = gone(run)
        removed = folder.remove(leaving) if leaving else []
    documents, passages = folder.store.counts()
    return IngestReport(
        added=tally.added,
        replaced=tally.replaced,
        unchanged=tally.unchanged,
        removed=tuple(removed),
        ignored=tuple(tally.ignored),
        taken_over=tuple(tally.taken_over),
        failures=tuple(tally.failures),
        documents=documents,
        passages=passages,
        seconds=time.perf_counter() - begun,
        warnings=tuple(tally.warnings),
        passed_over=run.passing.report(),
    )


class _Run:
    """One ingest: the batch that is being filled, and what has been seen so far."""

    def __init__(
        self,
        folder: LibraryFolder,
        settings: IngestSettings,
        report: Callable[[IngestProgress], None],
        acknowledged: Callable[[Sequence[str]], None],
        tags: Sequence[str] = (),
    ) -> None:
        self.tally = _Tally()
        self.folder = folder
        self.settings = settings
        self.passing = Passing(settings)
        self._report = report
        self._acknowledged = acknowledged
        self._tags = tags
        self._unchanged: list[str] = []  # that are still to be given the tags
        self._batch: list[Document] = []
        self._batch_files: dict[str, bytes] = {}
        self._batch_size = 0
        self._batch_begun = time.monotonic()
        self._ids: dict[str, str] = {}  # every id of this run and the file it came from
        self._read_whole: set[str] = set()

    def files(self, files: Sequence[InputFile], parser: FilesReader) -> None:
        parser.expect(self._expected(files), self._warns)
        sizes = [_size(file.path) for file in files]
        total, before = sum(sizes), 0
        for number, (file, size) in enumerate(zip(files, sizes, strict=True)):

            def reached(consumed: int, number: int = number, before: int = before, file: InputFile = file) -> None:
                documents = self.tally.added + self.tally.replaced + self.tally.unchanged
                self._report(IngestProgress(number, len(files), before + consumed, total, documents, file.name))

            reached(0)
            try:
                self._file(file, parser, reached)
            except IngestError as error:
                self.tally.failures.append(IngestFailure(shown_path(file.path), str(error)))
            before += size
        self._write()
        documents = self.tally.added + self.tally.replaced + self.tally.unchanged
        self._report(IngestProgress(len(files), len(files), total, total, documents, ""))

    def gone(self, pruning: Pruning) -> list[str]:
        """Documents that are no longer in the files they came from."""
        return pruning.gone(lambda document: document.source in self._read_whole and document.id not in self._ids)

    def leaving(self, ids: Sequence[str]) -> list[str]:
        """Those of the documents that are not in another file now."""
        return [id for id in ids if id not in self._ids]

    def left_over(self) -> list[str]:
        """Documents of the files that were sent, from the time before."""
        return [
            id
            for source in sorted(self._read_whole)
            for id in self.folder.store.with_source(source)
            if id not in self._ids
        ]

    def _file(self, file: InputFile, parser: FilesReader, reached: Callable[[int], None]) -> None:
        source = file.source
        known_hash = self.folder.store.file_hash(source)
        if known_hash is None and not file.named and _tells_its_kind(file.path) and self._passed_over(file, parser):
            self.tally.ignored.append(shown_path(file.path))
            return
        digest = parser.hash(file.path)
        # What has been sent replaces what has its name, even if the very same was sent before that.
        if not file.sent and known_hash == digest and not self._damaged(source):
            self.tally.unchanged += 1
            self._date(source, _changed(file.path))
            self._unchanged += self.folder.store.with_source(source)
            return
        failures = len(self.tally.failures)
        for outcome in parser.read(file.path, reached, language=self._warns):
            if isinstance(outcome, IngestFailure):
                self.tally.failures.append(outcome)
            else:
                self._record(file, source, outcome.record, outcome.language)
        if len(self.tally.failures) == failures:
            self._read_whole.add(source)
            # One with fewer records than before is read again until the others are pruned.
            if all(id in self._ids for id in self.folder.store.with_source(source)):
                self._batch_files[source] = digest

    @property
    def _warns(self) -> bool:
        return self.settings.warn_language and self.folder.settings.index.language == "english"

    def _expected(self, files: Sequence[InputFile]) -> Iterator[Expected]:
        """What `_file` will ask of each file, as far as that is known before."""
        for file in files:
            known = self.folder.store.file_hash(file.source)
            unread = known is not None and not file.sent and not self._damaged(file.source)
            yield Expected(file.path, known if unread else None, known is None and not file.named)

    def _passed_over(self, file: InputFile, parser: FilesReader) -> bool:
        return self.passing.by_name(file.name) or self.passing.by_kind(file.name, parser.kind(file.path))

    def _record(self, file: InputFile, source: str, record: Record, language: str | None) -> None:
        id = self._id(file, source, record)
        if id in self._ids:
            where = "in the same file" if self._ids[id] == source else f"in {self._ids[id]}"
            name = f"{file.path}:{record.place}" if record.place else str(file.path)
            self.tally.failures.append(IngestFailure(name, f"the id '{id}' was used before {where}; ids must differ"))
            return
        self._ids[id] = source
        document = Document(id, record.text, record.title, source, record.date or _changed(file.path), record.places)
        known = self.folder.store.facts(id)
        if known and known == (source, content_hash(document)) and not self.folder.damaged([id]):
            self.tally.unchanged += 1
            self._unchanged.append(id)
            if self.folder.store.dates([id]).get(id, "") != document.date:
                self.folder.store.set_dates({id: document.date})
            if self.folder.store.places(id) != document.places:
                self.folder.store.set_places(id, document.places)
            return
        if known is None:
            self.tally.added += 1
        else:
            self.tally.replaced += 1
            if known[0] != source:
                self.tally.taken_over.append(id)
        if language is not None:
            self._warn(file, record, language)
        self._batch.append(document)
        self._batch_size += len(document.text)
        if self._full():
            self._write()

    def _damaged(self, source: str) -> bool:
        """Whether any document of a file is not what was written: then the file is read, as if it had changed."""
        return self.folder.damaged(self.folder.store.with_source(source))

    def _date(self, source: str, date: str) -> None:
        """Give an unchanged file's documents a date, where they are of a library from before there were any."""
        ids = self.folder.store.with_source(source)
        known = self.folder.store.dates(ids)
        if date and len(known) < len(ids):
            self.folder.store.set_dates({id: date for id in ids if id not in known})

    def _warn(self, file: InputFile, record: Record, language: str) -> None:
        """Complain about a document in another language than the one that questions are asked in."""
        name = f"{file.path}:{record.place}" if record.place else str(file.path)
        self.tally.warnings.append(
            IngestFailure(name, f"it seems to be in {language}, which cannot be asked about (English only)")
        )

    def _id(self, file: InputFile, source: str, record: Record) -> str:
        """The record's own id; or the file's name, told apart from an equally named file elsewhere."""
        if record.id is not None:
            return record.id
        if record.place:
            return f"{file.name}:{record.place.rpartition(' ')[2]}"
        if file.sent:
            return file.name
        known = self.folder.store.with_source(source)
        if len(known) == 1 or file.name in known:  # a message's file may hold others beside it
            return file.name if file.name in known else known[0]
        name, number = file.name, 1
        while name in self._ids or self.folder.store.facts(name) is not None:
            number += 1
            name = f"{file.name}~{number}"
        return name

    def _full(self) -> bool:
        about_passages = self._batch_size / 500
        return (
            about_passages >= self.settings.batch_passages
            or self._batch_size >= _BATCH_CHARACTERS
            or time.monotonic() - self._batch_begun >= self.settings.batch_seconds
        )

    def _write(self) -> None:
        if self._batch or self._batch_files:
            self.folder.put(self._batch, self._batch_files)
        if self._tags:
            self.folder.store.tag([*self._unchanged, *(document.id for document in self._batch)], self._tags)
        if self._batch or self._batch_files:
            self._acknowledged([document.id for document in self._batch])
        self._batch, self._batch_files, self._batch_size, self._unchanged = [], {}, 0, []
        self._batch_begun = time.monotonic()


def _tells_its_kind(path: Path) -> bool:
    """Whether its name does, or its bytes; of a link to nowhere without a suffix, reading says what is wrong."""
    try:
        return path.suffix != "" or path.is_file()
    except OSError:
        return False


def _changed(path: Path) -> str:
    """When a file was last changed, for telling old versions from new ones."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(path.stat().st_mtime))
    except OSError:
        return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
