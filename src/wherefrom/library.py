"""The front door: a library that is filled with documents and asked questions.

from wherefrom import Library
library = Library("my-library")
library.ingest(["notes/"])
print(library.ask("When does the garden open?").answer)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from wherefrom.config import IndexSettings, RetrieveSettings, Settings
from wherefrom.conversation import LONGEST_TYPED, Conversation, best, questions_of, tried
from wherefrom.errors import IngestError, NotFound, NothingWritten, SettingsError
from wherefrom.features.language import out_of_reach
from wherefrom.ingest.original import unchanged
from wherefrom.ingest.split import split
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.stages import Index
from wherefrom.store.library import LibraryFolder, MakeIndex, Problem
from wherefrom.store.sqlite import DocumentFacts
from wherefrom.types import Document, Filter, Hit, Meaning, Passage, Question, Reasons, Style, Trace, Turn

if TYPE_CHECKING:
    from threading import Event

    from wherefrom.features.meant import FollowUps
    from wherefrom.ingest.run import IngestProgress, IngestReport
    from wherefrom.ingest.watch import WatchEvent, WatchRules
    from wherefrom.pipeline import Pipeline
    from wherefrom.stages import OnWords
    from wherefrom.store.backup import BackupReport
    from wherefrom.store.feedback import Feedback
    from wherefrom.store.reading import StoredText
    from wherefrom.store.rescue import RescueReport
    from wherefrom.write.explain import Explanation


def _tfidf(path: Path, settings: IndexSettings) -> Index:
    from wherefrom.retrieve.tfidf import TfidfIndex  # numpy with it, which most commands do without

    return TfidfIndex(path, settings)


def indexes(settings: Settings | None = None) -> dict[str, MakeIndex]:
    """How each index is made, and where the settings say that its server is."""
    retrieve = settings.retrieve if settings else RetrieveSettings()
    matcher = (settings or Settings()).runtime.matcher

    def qdrant(path: Path, settings: IndexSettings) -> Index:
        from wherefrom.build import embedder
        from wherefrom.retrieve.qdrant import QdrantIndex

        dense = "" if retrieve.dense == "none" else retrieve.dense
        return QdrantIndex(path, settings, retrieve.url, dense, lambda name: embedder(name, matcher))

    return {"bm25": BM25Index, "tfidf": _tfidf, "qdrant": qdrant}


INDEXES = indexes()
_MOST_NAMED = 1000  # documents of one summary; each is a condition of the search


def default_path() -> Path:
    """`WHEREFROM_LIBRARY`, else a folder of the user's own."""
    named = os.environ.get("WHEREFROM_LIBRARY")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_data_dir("wherefrom", appauthor=False)) / "library"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `check` found."""

    documents: int
    passages: int
    problems: tuple[Problem, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong any more."""
        return all(problem.repaired for problem in self.problems)


class Library:
    """Documents on disk that can be searched and asked; nothing is opened before it is needed.

    One process writes at a time, many read; a question sees what was acknowledged before it was asked.
    """

    def __init__(self, path: str | Path | None = None, settings: Settings | None = None) -> None:
        self.path = Path(path).expanduser() if path is not None else default_path()
        self._settings = settings or Settings()
        self._opened: LibraryFolder | None = None
        self._built: Pipeline | None = None
        self._follow_ups: FollowUps | None = None

    # Writing.

    def ingest(
        self,
        paths: Iterable[str | Path],
        prune: bool = False,
        report: Callable[[IngestProgress], None] = lambda _: None,
        acknowledged: Callable[[Sequence[str]], None] = lambda _: None,
        force: bool = False,
        tags: Sequence[str] = (),
    ) -> IngestReport:
        """Bring files and folders into the library, making it if there is none.

        With `prune`, documents whose file has gone are removed; where most of what is known of a path would go, that is
        refused (`PruneRefused`) unless `force`. All documents of the paths are given the `tags`. `report` is called
        with the progress, `acknowledged` with the ids of documents as soon as they are safe.
        """
        from wherefrom.ingest.run import ingest

        folder = self._folder(create=True)
        named = [Path(path) for path in paths]
        return ingest(folder, named, self._settings.ingest, prune, report, acknowledged, force, tags)

    def watch(
        self,
        folders: Iterable[str | Path],
        tell: Callable[[WatchEvent], None],
        stop: Event,
        rules: WatchRules | None = None,
        poll: float | None = None,
    ) -> None:
        """Keep the library as the folders are, until `stop` is set; `tell` is called with each thing that is done.

        Files are looked at every `poll` seconds; where that is None, when the system reports a change, if the extra
        `watch` is installed, and every two seconds if not.
        """
        from wherefrom.ingest.waking import waker
        from wherefrom.ingest.watch import Watch, WatchRules

        paths = [Path(folder).expanduser().absolute() for folder in folders]
        watch = Watch(self._folder(create=True), paths, self._settings.ingest, rules or WatchRules(), tell)
        with waker(paths, stop, poll) as waiting:
            watch.run(waiting, stop)

    def catch_up(
        self, folders: Iterable[str | Path], tell: Callable[[WatchEvent], None], rules: WatchRules | None = None
    ) -> bool:
        """What `watch` does first, once; whether that could be done, which it cannot while another process writes."""
        from wherefrom.ingest.watch import Watch, WatchRules

        paths = [Path(folder).expanduser().absolute() for folder in folders]
        return Watch(self._folder(create=True), paths, self._settings.ingest, rules or WatchRules(), tell).catch_up()

    def ingest_sent(
        self,
        files: Mapping[str, Path],
        report: Callable[[IngestProgress], None] = lambda _: None,
        acknowledged: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> IngestReport:
        """Bring in files under names of their own, in place of what had these names; for what comes over a network."""
        from wherefrom.ingest.run import ingest_sent

        return ingest_sent(self._folder(create=True), files, self._settings.ingest, report, acknowledged)

    def put(self, documents: Sequence[Document]) -> None:
        """Bring in documents that are not files; one of a known id replaces its old version."""
        folder = self._folder(create=True)
        with folder.writing():
            folder.put(documents)

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Take documents out everywhere; the ids of those that were there."""
        folder = self._folder()
        with folder.writing():
            return folder.remove(ids)

    def tag(self, ids: Sequence[str], add: Sequence[str] = (), remove: Sequence[str] = ()) -> list[str]:
        """Give tags to documents and take others from them; the ids of those that are there."""
        return self._folder().store.tag(ids, add, remove)

    def tags(self, id: str | None = None) -> dict[str, int]:
        """The tags of a document, or all there are, and how many documents have each."""
        return self._folder().store.tags(id)

    def build_index(self, name: str, report: Callable[[int, int], None] = lambda *_: None) -> int:
        """Build an index that the library lacks, such as "tfidf", or build it anew; how many passages it has.

        `report` is called with how many passages of how many are done.
        """
        folder = self._folder()
        with folder.writing():
            return folder.build_index(name, report)

    def check(self, repair: bool = True) -> CheckReport:
        """Verify everything, and make anew what can be derived from the documents: not where you may only read."""
        folder = self._folder()
        if repair and folder.writable:
            with folder.mending():
                problems = tuple(folder.problems(repair=True))
        else:
            with folder.looking():
                problems = tuple(folder.problems(repair=False))
        documents, passages = folder.store.counts()
        return CheckReport(documents, passages, problems)

    def rescue(self, new: str | Path) -> RescueReport:
        """Make a library at `new` of all that can be read whole of this one, however damaged; this one is only read."""
        from wherefrom.store.rescue import rescue

        return rescue(self.path, Path(new).expanduser(), split, indexes(self._settings))

    def backup(self, file: str | Path, extras: Mapping[str, bytes] | None = None, force: bool = False) -> BackupReport:
        """Write the documents and all that was said of answers into one file; nobody has to stop writing meanwhile.

        `extras` are more files to put into it, by name. Where the file is there already it is replaced with `force`.
        """
        from wherefrom.store.backup import backup

        return backup(self._folder(), Path(file).expanduser(), extras or {}, force)

    @staticmethod
    def restore(
        file: str | Path, new: str | Path, report: Callable[[int, int], None] = lambda *_: None
    ) -> tuple[BackupReport, dict[str, bytes]]:
        """Make a library of a backup, in a folder that is not there; with it comes what else was in the backup.

        Everything is verified, and the indexes are built; `report` is called with how many passages of how many are.
        """
        from wherefrom.store.backup import restore

        return restore(Path(file).expanduser(), Path(new).expanduser(), split, INDEXES, report)

    # Reading.

    def documents(self, after: str = "", limit: int | None = None, within: Filter | None = None) -> list[DocumentFacts]:
        """Every document without its text, by id; those behind the id `after`, at most `limit`, or only what fits."""
        return list(self._folder().store.documents(after, limit, within))

    def chosen(self, patterns: Sequence[str] = (), within: Filter | None = None) -> list[str]:
        """The ids of documents that fit any of the patterns, if there are some, and the filter; NotFound if none does.

        In a pattern * is anything within a folder, ** anything, and ? one character; an id is a pattern too.
        """
        from wherefrom.store.within import fits

        ids = [facts.id for facts in self.documents(within=within) if not patterns or fits(facts.id, patterns)]
        if not ids:
            raise NotFound("no document of the library is like that; `wherefrom list` shows what there is")
        return ids

    def gone(self, documents: Iterable[DocumentFacts]) -> list[DocumentFacts]:
        """The same documents, marked where their file is no longer there: each file is looked for on the disk."""
        from wherefrom.ingest.prune import is_gone

        look = cache(is_gone)  # a file may hold a million documents
        return [replace(facts, gone=look(facts.source)) for facts in documents]

    def counts(self) -> tuple[int, int]:
        """How many documents and passages there are."""
        return self._folder().store.counts()

    def document(self, id: str) -> Document:
        document = self._folder().store.document(id)
        if document is None:
            raise _no_document(id)
        return document

    def text(self, id: str) -> StoredText:
        """A document to be read in pieces, however long it is: `text.pieces(0, 1000)`."""
        text = self._folder().store.text(id)
        if text is None:
            raise _no_document(id)
        return text

    def passage(self, id: str) -> Passage:
        passages = self._folder().store.passages([id])
        if not passages:
            raise NotFound(f"there is no passage '{id}' in the library; a passage is named DOCUMENT#NUMBER")
        return passages[0]

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages of these ids, in their order; unknown ids are left out."""
        return self._folder().store.passages(ids)

    def passages_of(self, id: str) -> list[Passage]:
        """The passages of a document, in order."""
        store = self._folder().store
        return store.passages([f"{id}#{ordinal}" for ordinal in range(store.passage_count(id))])

    def original(self, id: str, kept: Path | None = None) -> bytes:
        """The file that a document was read from, byte for byte as it was then; a NotFound says why there is none.

        `kept` is the folder where files that were sent lie under the hash of their bytes.
        """
        path, digest = self._original(id, kept)
        try:
            return unchanged(path, digest, int(self.settings().ingest.max_megabytes * 1_000_000))
        except IngestError as error:
            raise NotFound(f"the file of '{id}' cannot be shown: {error}") from error

    def has_original(self, id: str, kept: Path | None = None) -> bool:
        """Whether the file seems to be there still; that it is unchanged, only reading it tells."""
        try:
            return self._original(id, kept)[0].is_file()
        except NotFound:
            return False

    def _original(self, id: str, kept: Path | None) -> tuple[Path, bytes]:
        """Where the file should lie, and the hash of its bytes."""
        store = self._folder().store
        facts = store.facts(id)
        if facts is None:
            raise NotFound(f"there is no document '{id}' in the library; `wherefrom list` shows what there is")
        source, _ = facts
        digest = store.file_hash(source)
        if digest is not None and source.startswith("sent:") and kept is not None and (kept / digest.hex()).exists():
            return kept / digest.hex(), digest
        if digest is None or source.startswith("sent:") or not Path(source).is_absolute():
            raise NotFound(f"of the document '{id}' the library has the text alone")
        return Path(source), digest

    def sent_hashes(self) -> set[bytes]:
        """The hashes of the files that were sent and are wholly in the library."""
        return self._folder().store.sent_hashes()

    def search(self, question: str, k: int | None = None, within: Filter | None = None) -> Trace:
        """Find passages, of the documents that fit `within`; the trace has hits and no answer."""
        return self.pipeline(k).search_many([Question("", question, within)])[0]

    def ask(
        self,
        question: str,
        style: Style | None = None,
        k: int | None = None,
        min_chance: float | None = None,
        heard: OnWords | None = None,
        within: Filter | None = None,
        turns: Sequence[Turn] = (),
    ) -> Trace:
        """Answer a question; `trace.answer.text` is None where the library does not know.

        `within` is the part of the library that is asked; where no document fits, that is an error (`NotFound`).
        `turns` are the earlier questions of a conversation: a follow-up is answered as what it means after them, which
        `trace.question` tells. `chat` keeps them by itself.
        `heard` is called with the words of an answer while it is being written; what counts is the trace.
        """
        style = style or self._settings.write.style
        meanings = self.meanings(question, turns)
        questions = questions_of(question, meanings, within)
        # Words are told as they come only where it is clear what is asked.
        traces = self.pipeline(k).ask_many(questions, style, min_chance, heard if len(questions) == 1 else None)
        return traces[best(meanings, [trace.answer.chance if trace.answer else 0.0 for trace in traces])]

    def summarize(
        self,
        question: str,
        words: int | None = None,
        documents: Sequence[str] = (),
        k: int | None = None,
        within: Filter | None = None,
    ) -> Trace:
        """Tell many documents around a question; every sentence of `trace.summary` has its evidence.

        `documents` names some by their ids or the paths of their files; with none, all that fit `within` are looked at.
        The summary has at most `words` words; where the documents hold nothing on the question it has no sentences, and
        its `reason` says so.
        """
        part = self.part_of(documents, within)
        count = self._settings.summarize.words if words is None else words
        if count < 1:
            raise SettingsError(f"a summary has at least 1 word, not {count}")
        return self.pipeline(k).summarize_many([Question("", question, part)], count)[0]

    def summary_hits(self, question: str, documents: Sequence[str] = (), within: Filter | None = None) -> list[Hit]:
        """The passages that a summary would be made from."""
        retriever = self.pipeline().summary_retriever
        assert retriever is not None
        return retriever.retrieve([Question("", question, self.part_of(documents, within))])[0]

    def part_of(self, documents: Sequence[str], within: Filter | None) -> Filter | None:
        """The filter, narrowed to the named documents; NotFound names one that is not there."""
        if len(documents) > _MOST_NAMED:
            raise SettingsError(f"{len(documents)} documents are named; name at most {_MOST_NAMED}, or their folder")
        for id in documents:
            self.check_fits(Filter(folders=(id,)))
        if not documents:
            return within
        part = within or Filter()
        return replace(part, folders=(*part.folders, *documents))

    def chat(self, within: Filter | None = None, turns: Sequence[Turn] = ()) -> Conversation:
        """A conversation over this library, or the part that fits `within`; its `ask` understands follow-ups."""
        return Conversation(self, within, turns)

    def meanings(self, question: str, turns: Sequence[Turn]) -> list[Meaning]:
        """What a question may mean after these turns, the likeliest first: one meaning, or two where that is unsure."""
        from wherefrom.build import follow_ups

        settings = self.settings()
        if not turns or len(question.split()) > LONGEST_TYPED or out_of_reach(question):
            return [Meaning(question, 1.0, True)]
        if self._follow_ups is None:
            self._follow_ups = follow_ups(settings)
        if self._follow_ups is None:
            return [Meaning(question, 1.0, True)]
        return tried(self._follow_ups.meanings(question, turns), settings.conversation.unsure)

    def explain(self, trace: Trace) -> Explanation:
        """How this library's answer was written: `wherefrom.write.pictures.picture` draws it."""
        from wherefrom.write.explain import check_written, explained_by

        answer = trace.answer
        if answer is None or answer.text is None:
            chance = f" (chance {answer.chance:.2f})" if answer else ""
            raise NothingWritten(
                f"there is no answer{chance}, so nothing was written; a smaller min_chance declines less"
            )
        check_written(self.settings().write, answer.style)
        return explained_by(self.pipeline().writer, trace.question, trace.hits, trace.candidates, answer.style)

    def why(self, trace: Trace, min_chance: float | None = None, expect: str | None = None) -> Reasons:
        """Which step of this library's trace did what, and at which one the answer `expect` was lost.

        `min_chance` is the one that was asked with; where it is None, that of the settings.
        """
        from wherefrom.reasons import why

        settings = self.settings()
        needed = settings.judge.min_chance if min_chance is None else min_chance
        return why(trace, needed, expect, self._folder().store.holds, settings.index.language)

    def pipeline(self, k: int | None = None, like: Library | None = None) -> Pipeline:
        """The stages over this library, for many questions at a time.

        `like` is a library that is open already, whose networks are taken where both have the same settings.
        """
        from wherefrom.build import build, over_library, with_passages

        folder = self._folder()
        if self._built is None:  # once: its networks load on first use and are kept
            alike = like is not None and replace(like.settings(), split=folder.settings.split) == folder.settings
            if like is not None and alike:
                self._built = over_library(like.pipeline(), folder.settings, folder)
            else:
                self._built = build(folder.settings, folder)
        return self._built if k is None else with_passages(self._built, folder.settings, folder, k)

    def check_fits(self, within: Filter) -> None:
        """NotFound where no document fits."""
        self._folder().store.keys_within(within)

    @property
    def writable(self) -> bool:
        """Whether this user may change it."""
        return self._folder().writable

    def settings(self) -> Settings:
        """The settings in force; what shapes passages and indexes is fixed since the library was made."""
        return self._folder().settings

    # What people say of its answers.

    def add_feedback(self, feedback: Feedback) -> int:
        """Keep a verdict on an answer; its number."""
        from wherefrom.store.feedback import add

        return add(self._folder().store, feedback)

    def feedback(self) -> Iterator[Feedback]:
        """Every verdict, oldest first."""
        from wherefrom.store.feedback import stored

        return stored(self._folder().store)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = self._built = None

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def make(self) -> None:
        """Make the library if there is none; an empty one can be served and filled over the network."""
        self._folder(create=True)

    def _folder(self, create: bool = False) -> LibraryFolder:
        if self._opened is None:
            self._opened = LibraryFolder.open(self.path, self._settings, split, indexes(self._settings), create)
        return self._opened


def _no_document(id: str) -> NotFound:
    return NotFound(f"there is no document '{id}' in the library; `wherefrom list` shows what there is")
