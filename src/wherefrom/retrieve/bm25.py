"""The BM25 index, kept by tantivy."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from wherefrom.config import IndexSettings
from wherefrom.errors import DiskFull, LibraryDamaged, is_full
from wherefrom.retrieve.analysis import Analysis
from wherefrom.retrieve.identifiers import with_names
from wherefrom.stages import KeyRanges
from wherefrom.text import separated

if TYPE_CHECKING:
    import tantivy

_ANALYZER = "wherefrom"
_WRITER_BYTES = 64_000_000  # a batch of 20,000 passages needs about 40 MB of postings
_SPARE = 8  # hits fetched beyond k, to see whether equal scores cross the border
_FEW_RANGES = 8  # of keys that a search is narrowed to by comparing; each more costs it 0.2 ms at 300,000 passages
_MOST_SIFTED = 8_192  # hits that are fetched to be sifted in Python; more cost what naming every key does


_SEGMENT = ("fast", "fieldnorm", "idx", "pos", "store", "term")  # the files of each segment of tantivy


class BM25Index:
    """Finds passages by the words they share with a text: BM25 with k1 = 1.2 and b = 0.75.

    Words are cut at everything that is not a letter or digit, lower-cased, folded to ASCII and stemmed; names in code
    are words as a whole too (`identifiers.py`), and scripts without spaces are indexed by the character.
    A question's function words are left out, unless
    it has no others: the passages found are as good, and found five times faster. Any text is a safe
    question, because it is analysed and never parsed.
    """

    def __init__(self, path: Path, settings: IndexSettings) -> None:
        self.path = path
        self._opened: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._searcher: tantivy.Searcher | None = None
        self._links: tempfile.TemporaryDirectory[str] | None = None
        self._analysis = Analysis(settings.language)

    def create(self) -> None:
        """Lay an empty index, unless there is one."""
        self._open(create=True)

    def put(self, keys: Sequence[int], texts: Sequence[str]) -> None:
        import tantivy

        with self._changing():
            writer = self._writing()
            for key, text in zip(keys, texts, strict=True):
                document = tantivy.Document()
                document.add_unsigned("key", key)
                document.add_text("text", with_names(separated(text)))
                writer.add_document(document)

    def remove(self, keys: Sequence[int]) -> None:
        import tantivy

        if keys:
            # By query: deletion by term takes a Python int for a signed number and misses unsigned keys.
            with self._changing():
                query = tantivy.Query.term_set_query(self._index().schema, "key", list(keys))
                self._writing().delete_documents_by_query(query)

    def commit(self) -> None:
        """When this returns, no file changes any more: what was merged meanwhile is waited for."""
        if self._writer is not None:
            with self._changing():
                self._writer.commit()
                self._end_writer()
            self.refresh()

    def search(self, texts: Sequence[str], k: int, within: KeyRanges | None = None) -> list[list[tuple[int, float]]]:
        with self._reading():
            return [self._search_one(text, k, within) for text in texts]

    def keys(self) -> set[int]:
        import tantivy

        with self._reading():
            searcher = self._searching()
            self._miss_no_file()
            if not searcher.num_docs:
                return set()
            hits = searcher.search(tantivy.Query.all_query(), searcher.num_docs, count=False).hits
            return set(self._keys_of([address for _, address in hits]))

    def _miss_no_file(self) -> None:
        """An error where a segment lacks a file: tantivy takes one without positions for one that never had any."""
        meta = self.path / "meta.json"
        while (content := meta.read_bytes()) and (missing := _missing_file(self.path, content)):
            if meta.read_bytes() == content:  # and no writer has just merged it into another
                raise LibraryDamaged(f"the index in {self.path} lacks {missing}; `wherefrom check` makes it anew")

    def term(self, word: str) -> str | None:
        """What a word is indexed as; None where that is not one term."""
        return self._analysis.term(word)

    def frequency(self, term: str) -> int:
        """How many passages hold a term."""
        with self._reading():
            return int(self._searching().doc_freq("text", term))

    def beginning(self, start: str, most: int) -> list[tuple[str, int]]:
        """The commonest terms that begin so, with how many passages hold each."""
        with self._reading():
            return list(self._searching().terms_with_prefix("text", start, limit=most))

    def searcher(self) -> tantivy.Searcher:
        """What has been committed, as tantivy has it; for those who count and explain (`shards`)."""
        with self._reading():
            return self._searching()

    def schema(self) -> tantivy.Schema:
        """The fields, as tantivy has them."""
        with self._reading():
            return self._index().schema

    def refresh(self) -> None:
        if self._opened is None:
            return
        if self._links is not None:
            self._opened = self._searcher = None  # opened anew when it is needed, with the files there are then
            return
        with self._reading():
            self._opened.reload()
            self._searcher = self._opened.searcher()

    def close(self) -> None:
        with suppress(ValueError):  # what was not committed may not be writable either
            self._end_writer()
        self._opened = self._searcher = None
        if self._links is not None:
            self._links.cleanup()
            self._links = None

    def _end_writer(self) -> None:
        """What was put and not committed is given up; the next writer can then take the lock."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()

    def _search_one(self, text: str, k: int, within: KeyRanges | None) -> list[tuple[int, float]]:
        import tantivy

        terms = self._analysis.of_question(text)
        searcher = self._searching()
        if not terms or not searcher.num_docs:
            return []
        schema = self._index().schema
        parts = []
        for term, times in terms.items():
            query = tantivy.Query.term_query(schema, "text", term, "freq")
            parts.append((tantivy.Occur.Should, tantivy.Query.boost_query(query, times) if times > 1 else query))
        query = tantivy.Query.boolean_query(parts)
        if within is None:
            return self._best(searcher, query, k, fetched=k + _SPARE)
        return self._best_within(searcher, query, k, within)

    def _best_within(
        self, searcher: tantivy.Searcher, query: tantivy.Query, k: int, within: KeyRanges
    ) -> list[tuple[int, float]]:
        """The k best of these keys, whichever way costs least; each of them is exact.

        Few ranges of keys are a part of the query. Else as many hits are fetched as should hold k of them, and sifted.
        Where that is too many, or the words stand elsewhere, the query names every key.
        """
        if not within:
            return []
        if len(within.firsts) > _FEW_RANGES:
            fetched = 2 * k * searcher.num_docs // len(within) + _SPARE
            if fetched <= _MOST_SIFTED:
                hits = self._best(searcher, query, fetched, fetched + _SPARE)
                sifted = [(key, score) for key, score in hits if key in within]
                if len(sifted) >= k or len(hits) < fetched:
                    return sifted[:k]
        return self._best(searcher, self._narrowed(query, within), k, k + _SPARE)

    def _narrowed(self, query: tantivy.Query, within: KeyRanges) -> tantivy.Query:
        """The query for these keys alone, which adds nothing to any score."""
        import tantivy

        schema, ranges = self._index().schema, list(zip(within.firsts, within.stops, strict=True))
        if len(ranges) > _FEW_RANGES:
            named = tantivy.Query.term_set_query(
                schema, "key", list(chain.from_iterable(range(*each) for each in ranges))
            )
        else:
            unsigned = tantivy.FieldType.Unsigned
            inside = [tantivy.Query.range_query(schema, "key", unsigned, first, stop - 1) for first, stop in ranges]
            named = tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in inside])
        unscored = tantivy.Query.const_score_query(named, 0.0)
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, unscored)])

    def _best(self, searcher: tantivy.Searcher, query: tantivy.Query, k: int, fetched: int) -> list[tuple[int, float]]:
        """The k best keys; of equal scores at the border the smallest keys, wherever tantivy keeps them."""
        # Without the count tantivy can skip passages that cannot reach the best ones.
        hits = searcher.search(query, fetched, count=False).hits
        if len(hits) == fetched < searcher.num_docs and hits[-1][0] == hits[k - 1][0]:
            return self._best(searcher, query, k, fetched * 4)
        keys = self._keys_of([address for _, address in hits])
        scored = [(key, float(score)) for key, (score, _) in zip(keys, hits, strict=True)]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k]

    def _keys_of(self, addresses: list[tantivy.DocAddress]) -> list[int]:
        return [int(key or 0) for key in self._searching().fast_field_values("key", addresses)]

    def _index(self) -> tantivy.Index:
        return self._opened or self._open(create=False)

    def _open(self, create: bool) -> tantivy.Index:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("key", indexed=True, fast=True)
        builder.add_text_field("text", tokenizer_name=_ANALYZER, index_option="freq")
        if create:
            self.path.mkdir(parents=True, exist_ok=True)
        elif not (self.path / "meta.json").exists():
            raise LibraryDamaged(f"the index in {self.path} is missing; `wherefrom check` makes it anew")
        with self._reading():
            opened = tantivy.Index(builder.build(), str(self._readable()))
            opened.config_reader("manual")  # no thread that watches files: refresh() says when to look
            opened.register_tokenizer(_ANALYZER, self._analysis.everything)
            self._searcher = opened.searcher()
        self._opened = opened
        return opened

    def _readable(self) -> Path:
        """The index's folder; where nothing may be written to it, another with links to its files.

        For tantivy's readers make a file to lock, so that no writer takes away what they are about to open.
        """
        if os.access(self.path, os.W_OK):
            return self.path
        before, self._links = self._links, tempfile.TemporaryDirectory(prefix="wherefrom-")
        if before is not None:
            before.cleanup()
        for file in self.path.iterdir():
            if not file.name.endswith(".lock"):
                (Path(self._links.name) / file.name).symlink_to(file.absolute())
        return Path(self._links.name)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Whatever tantivy says of broken files, in the user's words."""
        try:
            with _panics_unprinted():
                yield
        except BaseException as error:
            if _is_tantivys(error):
                if is_full(error):
                    raise DiskFull(self.path) from error
                raise LibraryDamaged(
                    f"the index in {self.path} cannot be read ({error}); `wherefrom check` makes it anew"
                ) from error
            raise

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Likewise while the index is changed; where the disk is full, nothing is wrong with its files."""
        try:
            with _panics_unprinted():
                yield
        except BaseException as error:
            if not _is_tantivys(error):
                raise
            self._writer = None  # dropped: what it was given is given up
            if is_full(error):
                raise DiskFull(self.path) from error
            raise LibraryDamaged(
                f"the index in {self.path} cannot be written ({error}); `wherefrom check` makes it anew"
            ) from error

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            # One thread beside Python's own: it indexes a batch while the next one is read.
            self._writer = self._index().writer(_WRITER_BYTES, 1)
            # A writer killed in mid-commit leaves files under names that the next commit would use again.
            self._writer.garbage_collect_files()
        return self._writer

    def _searching(self) -> tantivy.Searcher:
        if self._searcher is None:
            self._index()
        assert self._searcher is not None
        return self._searcher


@contextmanager
def _panics_unprinted() -> Iterator[None]:
    """Rust prints a panic before it becomes an error here, which says it in words; a server's log may have it."""
    if threading.current_thread() is not threading.main_thread():  # not a command's, but a server's
        yield
        return
    try:
        kept = os.dup(2)
    except OSError:  # nobody listens anyway
        yield
        return
    try:
        with open(os.devnull, "wb") as nothing:  # noqa: PTH123 - no path of ours
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _is_tantivys(error: BaseException) -> bool:
    """A panic in Rust is no Exception; its class cannot be imported, only named."""
    return isinstance(error, ValueError | OSError) or type(error).__name__ == "PanicException"


def _missing_file(folder: Path, meta: bytes) -> str | None:
    """A file of one of the segments that an index consists of, if it is not there."""
    try:
        names = [each["segment_id"].replace("-", "") for each in json.loads(meta)["segments"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # tantivy says what is wrong with it
    there = {entry.name for entry in folder.iterdir()}
    return next((file for name in names for kind in _SEGMENT if (file := f"{name}.{kind}") not in there), None)
