"""Documents and their passages, in a PostgreSQL database that several machines share."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherefrom.errors import LibraryBusy, LibraryDamaged, LibraryError, LibraryForeign, LibraryTooNew
from wherefrom.stages import KeyRanges
from wherefrom.store import postgres_schema as schema
from wherefrom.store import within as part_of
from wherefrom.store.postgres_schema import Connection
from wherefrom.store.postgres_server import PostgresServer
from wherefrom.store.reading import StoredText
from wherefrom.store.rows import (
    DocumentFacts,
    DocumentRow,
    DocumentRows,
    Misfit,
    Rest,
    Row,
    Split,
    Written,
    cut,
    heading,
    in_pieces,
    misfit,
    passage_id,
    place_rows,
    split_passage_id,
    storable,
)
from wherefrom.store.sums import row_sum
from wherefrom.text import normalized
from wherefrom.types import Document, Filter, Passage, Place

SUMMED: Mapping[str, tuple[str, ...]] = {  # tables whose rows end with their checksum, and their keys
    "dated": ("document",),
    "feedback": ("number",),
    "file": ("source",),
    "meta": ("name",),
    "tag": ("document", "name"),
}
_COLUMNS = {
    "dated": ("document", "date"),
    "feedback": ("number", "given", "body"),
    "file": ("source", "hash"),
    "meta": ("name", "value"),
    "tag": ("document", "name"),
}
_NO_MARKS = re.compile(r"[!-/:-@\[-`{-~]")  # what normal forms leave out
_MOST_FILTERS = 100  # whose keys are kept until something changes
_LISTED = 5_000  # documents of a listing, fetched at a time
_READ = 200  # documents with their texts, likewise
_KEPT_CHANGES = 100_000  # whose retired keys are told to folders that catch up; one further behind compares all keys
_LOCK = 0x77667230 << 32  # "wfr0": of the numbers by which PostgreSQL knows locks


@dataclass(frozen=True, slots=True)
class Reached:
    """Up to which change something is; the token tells it from the same number of another history.

    A database that was put back from a backup goes on with numbers that it has given before.
    """

    number: int = 0
    token: str = ""

    def is_at(self, version: int) -> bool:
        """Whether that is the change that the store's `version` stands for."""
        return int.from_bytes(bytes.fromhex(self.token)) == version


@dataclass(frozen=True, slots=True)
class News:
    """What an index lacks that is as of some change: what is to go, what is to come, and what it then has reached."""

    reached: Reached
    retired: tuple[tuple[int, int], ...]  # first key, and how many
    documents: tuple[int, ...]  # that came in, by their keys
    more: int  # passages that are still to come after these


class PostgresStore:
    """The source of truth of several folders, each of which has indexes of its own.

    A document comes in whole in one transaction, and nobody sees anything of it before. Writers on several machines
    write at once; they wait for each other only for the instant in which a batch becomes visible.
    """

    def __init__(self, url: str, split: Split) -> None:
        self._split = split
        self._server = PostgresServer(url)
        self._keys_within: dict[Filter, tuple[int, KeyRanges]] = {}
        self._sources: dict[str, str | None] | None = None

    @property
    def name(self) -> str:
        """The database as it may be shown."""
        return self._server.name

    # Writing.

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note from which file each document came when it was looked at, to see whether another writer was faster."""
        self._sources = {}
        try:
            yield
        finally:
            self._sources = None

    def put(self, documents: Sequence[Document], files: Mapping[str, bytes] | None = None) -> None:
        """Write documents in place of their old versions, visible together or not at all.

        `files` maps files that are now wholly in the library to the hashes of their bytes.
        """
        wanted = list({document.id: document for document in documents}.values())
        for document in wanted:
            storable(document)
            place_rows(document)
        spans = [self._split(document.text, document.sections) for document in wanted]
        key, number = self._given(sum(map(len, spans)), len(wanted))
        following = iter(spans)  # in the order in which they are asked for
        made = cut(wanted, lambda *_: next(following), key, number)
        with self._server.writing() as connection:
            self._insert_parts(connection, made.documents)
            with self._changing(connection) as change:
                self._refuse_overtaken(connection, wanted)
                self._retire(connection, [document.id for document in wanted], change)
                self._insert_documents(connection, made.documents, change)
                self._insert(connection, "file", list((files or {}).items()))
        if self._sources is not None:
            self._sources |= {document.id: document.source for document in wanted}

    def remove(self, ids: Sequence[str]) -> list[str]:
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return []
        with self._server.writing() as connection, self._changing(connection) as change:
            sources = dict(
                connection.execute("SELECT id, source FROM document WHERE id = ANY(%s)", (wanted,)).fetchall()
            )
            removed = [id for id in wanted if id in sources]
            self._retire(connection, removed, change)
            # A file with a removed document is no longer wholly in the library: read it next time.
            connection.execute("DELETE FROM file WHERE source = ANY(%s)", (list(sources.values()),))
            connection.execute("DELETE FROM tag WHERE document = ANY(%s)", (removed,))
        return removed

    def _given(self, passages: int, documents: int) -> tuple[int, int]:
        """Keys that nobody had before and nobody else will have, whatever becomes of this writer."""
        with self._server.reading() as connection:  # a transaction of its own
            row = connection.execute(
                "UPDATE wherefrom SET next_key = next_key + %s, next_document = next_document + %s "
                "RETURNING next_key - %s, next_document - %s",
                (passages, documents, passages, documents),
            ).fetchone()
        if row is None:
            raise LibraryDamaged(f"{self.name} has lost the row that says which keys are free; restore its backup")
        return int(row[0]), int(row[1])

    @contextmanager
    def _changing(self, connection: Connection) -> Iterator[int]:
        """Be the only one, to the end of the transaction, who makes something visible; the number of this change."""
        self._lock(connection)
        (last,) = _one(connection, "SELECT coalesce(max(number), 0) FROM change")
        yield last + 1
        connection.execute("INSERT INTO change (number, token) VALUES (%s, %s)", (last + 1, os.urandom(8)))
        if (last + 1) % 1000 == 0 and last + 1 > _KEPT_CHANGES:
            old = last + 1 - _KEPT_CHANGES
            connection.execute("DELETE FROM retired WHERE change <= %s", (old,))
            connection.execute("DELETE FROM change WHERE number <= %s", (old,))
            connection.execute("UPDATE wherefrom SET kept_since = %s", (old,))

    @staticmethod
    def _lock(connection: Connection) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s::bigint + 'document'::regclass::oid::bigint)", (_LOCK,))

    def _refuse_overtaken(self, connection: Connection, documents: Sequence[Document]) -> None:
        """An error where another writer has put another file's document under an id that was thought to be free."""
        known = self._sources
        if not known:
            return
        sources = {document.id: document.source for document in documents if document.id in known}
        for id, source in connection.execute(
            "SELECT id, source FROM document WHERE id = ANY(%s)", (list(sources),)
        ).fetchall():
            if source not in (known[id], sources[id]):
                raise LibraryBusy(
                    f"another writer has brought in '{id}' from {source or 'elsewhere'} meanwhile, and here it is to "
                    f"come from {sources[id] or 'elsewhere'}; do it again, and it gets an id of its own"
                )

    @staticmethod
    def _retire(connection: Connection, ids: Sequence[str], change: int) -> None:
        rows = connection.execute(
            "DELETE FROM document WHERE id = ANY(%s) RETURNING key, first, passages", (list(ids),)
        ).fetchall()
        if not rows:
            return
        keys, firsts, counts = (list(column) for column in zip(*rows, strict=True))
        connection.execute(
            "DELETE FROM passage USING unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS gone (key, first, passages) "
            "WHERE passage.key >= gone.first AND passage.key < gone.first + gone.passages "
            "AND passage.document = gone.key",
            (keys, firsts, counts),
        )
        for table in ("content", "place", "checksum", "dated"):
            connection.execute(f"DELETE FROM {table} WHERE document = ANY(%s)", (keys,))
        connection.execute(
            "INSERT INTO retired SELECT first, passages, %s FROM unnest(%s::bigint[], %s::bigint[]) "
            "AS gone (first, passages) WHERE passages > 0",
            (change, firsts, counts),
        )

    def _insert_parts(self, connection: Connection, documents: Sequence[DocumentRows]) -> None:
        """What belongs to documents that nobody sees yet."""
        _copy(connection, "content", ((rows.facts.key, rows.text.encode("utf-8")) for rows in documents))
        _copy(connection, "passage", (row for rows in documents for row in rows.passages))
        _copy(connection, "place", ((rows.facts.key, *row) for rows in documents for row in rows.places))
        _copy(connection, "checksum", ((rows.facts.key, rows.sum) for rows in documents))
        self._insert(connection, "dated", [(rows.facts.key, rows.date) for rows in documents if rows.date])

    @staticmethod
    def _insert_documents(connection: Connection, documents: Sequence[DocumentRows], change: int) -> None:
        _copy(connection, "document", ((*rows.facts.values(), change) for rows in documents))

    @staticmethod
    def _insert(connection: Connection, table: str, rows: Sequence[Row]) -> None:
        """Write rows with their checksums, in place of those of the same key."""
        if not rows:
            return
        columns = (*_COLUMNS[table], "sum")
        places = ", ".join(["%s"] * len(columns))
        replaced = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in SUMMED[table])
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places}) "
                f"ON CONFLICT ({', '.join(SUMMED[table])}) DO UPDATE SET {replaced}",
                [(*row, row_sum(row)) for row in rows],
            )

    # What has changed, for the indexes of a folder.

    def version(self) -> int:
        """What stands for the last change, and for no other in whatever history; 0 before the first one."""
        with self._server.reading() as connection:
            row = connection.execute(
                "SELECT format, filled_from, (SELECT token FROM change ORDER BY number DESC LIMIT 1) FROM wherefrom"
            ).fetchone()
        if row is None:
            raise LibraryDamaged(f"{self.name} has lost what it says of itself; restore it from its backup")
        format, filled_from, token = row
        if format > schema.FORMAT:
            raise LibraryTooNew(schema.too_new(format))
        if filled_from is not None:
            raise self._unfinished(filled_from)
        return int.from_bytes(token or b"")

    def news(self, since: Reached, most: int) -> News | None:
        """What came and went since, about `most` passages at a time; None for one who has to begin anew."""
        with self._server.snapshot() as connection:
            number, kept = _one(
                connection, "SELECT (SELECT coalesce(max(number), 0) FROM change), kept_since FROM wherefrom"
            )
            if since.number > number or (since.number and self._token(connection, since.number) != since.token):
                return None
            if since.number < kept and since.number:
                return None
            sizes = connection.execute(
                "SELECT change, sum(passages) FROM document WHERE change > %s GROUP BY change ORDER BY change",
                (since.number,),
            ).fetchall()
            total = more = sum(int(passages) for _, passages in sizes)
            upto = number
            for change, passages in sizes:
                more -= int(passages)
                if total - more >= most and more:
                    upto = change
                    break
            documents = connection.execute(
                "SELECT key FROM document WHERE change > %s AND change <= %s ORDER BY first", (since.number, upto)
            ).fetchall()
            retired = connection.execute(
                "SELECT first, passages FROM retired WHERE change > %s AND change <= %s", (since.number, upto)
            ).fetchall()
            reached = Reached(upto, self._token(connection, upto))
        return News(reached, tuple(retired), tuple(key for (key,) in documents), more)

    def keys_as_of(self, reached: Reached) -> tuple[set[int], set[int]]:
        """The keys that an index has to hold that has come so far, and those that it may still hold beside them."""
        with self._server.snapshot() as connection:
            live = connection.execute(
                "SELECT first, passages FROM document WHERE change <= %s", (reached.number,)
            ).fetchall()
            gone = connection.execute(
                "SELECT first, passages FROM retired WHERE change > %s", (reached.number,)
            ).fetchall()
        return _expanded(live), _expanded(gone)

    def reached(self) -> Reached:
        """The last change."""
        with self._server.snapshot() as connection:
            (number,) = _one(connection, "SELECT coalesce(max(number), 0) FROM change")
            return Reached(number, self._token(connection, number))

    @staticmethod
    def _token(connection: Connection, number: int) -> str:
        row = connection.execute("SELECT token FROM change WHERE number = %s", (number,)).fetchone()
        return bytes(row[0]).hex() if row else ""

    def passages_of(self, documents: Sequence[int]) -> Iterator[tuple[int, str, str]]:
        """The passages of these documents, by their keys, as (key, heading, text); those that are gone have none."""
        for piece in in_pieces(documents, _READ):
            for rows in self.rows(piece):
                yield from _texts(rows)

    # Reading.

    def document(self, id: str) -> Document | None:
        with self._server.reading() as connection:
            row = connection.execute(
                "SELECT text, title, source, coalesce(date, ''), (SELECT json_agg("
                "json_build_array(start, label, number) ORDER BY start) FROM place WHERE document = key) "
                "FROM document JOIN content ON content.document = key LEFT JOIN dated ON dated.document = key "
                "WHERE id = %s",
                (id,),
                binary=True,
            ).fetchone()
        if row is None:
            return None
        text, title, source, date, places = row
        return Document(id, _decoded(text), title, source, date, tuple(Place(*place) for place in places or ()))

    def places(self, id: str) -> tuple[Place, ...]:
        with self._server.reading() as connection:
            rows = connection.execute(
                "SELECT start, label, number FROM place WHERE document = (SELECT key FROM document WHERE id = %s) "
                "ORDER BY start",
                (id,),
            ).fetchall()
            return tuple(Place(*row) for row in rows)

    def set_places(self, id: str, places: tuple[Place, ...]) -> None:
        with self._server.writing() as connection, self._changing(connection):
            rows = next(self._rows(connection, "document.id = %s", id), None)
            if rows is None:
                return
            key, placed = rows.facts.key, place_rows(Document(id, rows.text, places=places))
            connection.execute("DELETE FROM place WHERE document = %s", (key,))
            _copy(connection, "place", ((key, *row) for row in placed))
            sum = DocumentRows(rows.facts, rows.text, rows.date, rows.passages, placed).sum
            connection.execute("UPDATE checksum SET sum = %s WHERE document = %s", (sum, key))

    def text(self, id: str) -> StoredText | None:
        with self._server.reading() as connection:
            row = connection.execute(
                "SELECT id, title, source, characters, passages, key, first FROM document WHERE id = %s", (id,)
            ).fetchone()
        if row is None:
            return None
        id, title, source, length, passages, key, first = row
        return StoredText(id, title, source, length, passages, _PostgresText(key, first, passages, self._server))

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        wanted = [split_passage_id(id) for id in ids]
        documents, ordinals = [document for document, _ in wanted], [ordinal for _, ordinal in wanted]
        with self._server.snapshot() as connection:
            keys = [
                key
                for (key,) in connection.execute(
                    "SELECT first + ordinal FROM unnest(%s::text[], %s::bigint[]) WITH ORDINALITY "
                    "AS wanted (id, ordinal, at) JOIN document USING (id) WHERE ordinal >= 0 AND ordinal < passages "
                    "ORDER BY at",
                    (documents, ordinals),
                ).fetchall()
            ]
            at = self._passages_at(connection, keys)
        return [at[key] for key in keys]

    def passages_at(self, keys: Sequence[int]) -> dict[int, Passage]:
        if not keys:
            return {}
        with self._server.reading() as connection:
            return self._passages_at(connection, keys)

    @staticmethod
    def _passages_at(connection: Connection, keys: Sequence[int]) -> dict[int, Passage]:
        # Only a passage's own bytes are read, and the places that its characters touch: one statement, one moment.
        rows = connection.execute(
            "SELECT passage.key, passage.start, stop, substring(text FROM byte_start + 1 FOR byte_stop - byte_start), "
            "id, title, first, section, "
            "(SELECT json_agg(json_build_array(greatest(place.start - passage.start, 0), label, number) "
            "ORDER BY place.start) FROM place WHERE place.document = passage.document AND place.start < stop "
            "AND place.start >= coalesce((SELECT max(earlier.start) FROM place AS earlier "
            "WHERE earlier.document = passage.document AND earlier.start <= passage.start), passage.start)) "
            "FROM passage JOIN document ON document.key = passage.document "
            "JOIN content ON content.document = passage.document WHERE passage.key = ANY(%s)",
            (list(keys),),
            binary=True,
        ).fetchall()
        return {
            key: Passage(
                passage_id(id, key - first),
                id,
                _decoded(text),
                start,
                stop,
                title,
                section,
                tuple(Place(*place) for place in places or ()),
            )
            for key, start, stop, text, id, title, first, section, places in rows
        }

    def keys_within(self, part: Filter) -> KeyRanges:
        wanted = part_of.conditions(part, tagged=True)
        state = self.version()  # before what it stands for is looked at
        kept = self._keys_within.get(part)
        if kept is not None and kept[0] == state:
            return kept[1]
        with self._server.reading() as connection:
            rows = connection.execute(
                "SELECT first, passages FROM document LEFT JOIN dated ON dated.document = document.key "
                f"WHERE {_sql(wanted)} ORDER BY first",
                wanted.values,
            ).fetchall()
        if not rows:
            raise part_of.nothing_fits(part)
        if len(self._keys_within) >= _MOST_FILTERS:
            self._keys_within.clear()
        keys = part_of.ranges(rows)
        self._keys_within[part] = state, keys
        return keys

    def passage_count(self, id: str) -> int:
        with self._server.reading() as connection:
            (count,) = _one(
                connection,
                "SELECT count(passage.key) FROM document JOIN passage ON document = document.key "
                "AND passage.key >= first AND passage.key < first + passages WHERE id = %s",
                id,
            )
            return int(count)

    def documents(
        self, after: str = "", limit: int | None = None, part: Filter | None = None
    ) -> Iterator[DocumentFacts]:
        wanted = part_of.conditions(part or Filter(), tagged=True)
        while limit is None or limit > 0:
            most = _LISTED if limit is None else min(limit, _LISTED)
            with self._server.reading() as connection:
                rows = connection.execute(
                    "SELECT id, title, source, passages, characters, "
                    "ARRAY(SELECT name FROM tag WHERE tag.document = document.id) "
                    "FROM document LEFT JOIN dated ON dated.document = document.key "
                    f"WHERE id > %s AND {_sql(wanted)} ORDER BY id LIMIT %s",
                    (after, *wanted.values, most),
                ).fetchall()
            for id, title, source, passages, characters, names in rows:
                yield DocumentFacts(id, title, source, passages, characters, tuple(sorted(names)))
            if len(rows) < most:
                return
            after, limit = rows[-1][0], None if limit is None else limit - most

    def rows(self, keys: Sequence[int]) -> list[DocumentRows]:
        """Documents as tables hold them, by key; texts that are not UTF-8 any more are other texts, and no error."""
        with self._server.snapshot() as connection:
            return list(self._rows(connection, "document.key = ANY(%s)", list(keys)))

    @staticmethod
    def _rows(connection: Connection, where: str, value: object) -> Iterator[DocumentRows]:
        documents = connection.execute(
            "SELECT document.key, id, first, document.passages, characters, hash, source, title, "
            "coalesce(content.text, ''), coalesce(date, '') FROM document LEFT JOIN content ON content.document = key "
            f"LEFT JOIN dated ON dated.document = key WHERE {where} ORDER BY key",
            (value,),
            binary=True,
        ).fetchall()
        keys = [row[0] for row in documents]
        passages: dict[int, list[Row]] = {key: [] for key in keys}
        for row in connection.execute(
            "SELECT passage.key, passage.document, start, stop, byte_start, byte_stop, section "
            "FROM document JOIN passage ON passage.key >= first AND passage.key < first + passages "
            "WHERE document.key = ANY(%s) ORDER BY passage.key",
            (keys,),
            binary=True,
        ).fetchall():
            passages.setdefault(row[1], []).append(row)
        places: dict[int, list[Row]] = {key: [] for key in keys}
        for key, *place in connection.execute(
            "SELECT document, start, label, number FROM place WHERE document = ANY(%s) ORDER BY document, start",
            (keys,),
        ).fetchall():
            places[key].append(tuple(place))
        for *facts, text, date in documents:
            key = facts[0]
            yield DocumentRows(
                DocumentRow(*facts), bytes(text).decode("utf-8", "replace"), date, passages[key], places[key]
            )

    # Tags, dates, files.

    def tag(self, ids: Sequence[str], add: Sequence[str] = (), remove: Sequence[str] = ()) -> list[str]:
        added, removed = [[part_of.tag_name(name) for name in names] for names in (add, remove)]
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return []
        with self._server.writing() as connection, self._changing(connection):
            there = {id for (id,) in connection.execute("SELECT id FROM document WHERE id = ANY(%s)", (wanted,))}
            tagged = [id for id in wanted if id in there]
            connection.execute("DELETE FROM tag WHERE document = ANY(%s) AND name = ANY(%s)", (tagged, removed))
            self._insert(connection, "tag", [(id, name) for id in tagged for name in dict.fromkeys(added)])
        return tagged

    def tags(self, id: str | None = None) -> dict[str, int]:
        with self._server.reading() as connection:
            which, values = ("document = %s", (id,)) if id is not None else ("TRUE", ())
            rows = connection.execute(
                f"SELECT name, count(*) FROM tag WHERE {which} GROUP BY name ORDER BY name", values
            ).fetchall()
            return {name: int(count) for name, count in rows}

    def dates(self, ids: Sequence[str]) -> dict[str, str]:
        if not ids:
            return {}
        with self._server.reading() as connection:
            rows = connection.execute(
                "SELECT id, date FROM document JOIN dated ON document = key WHERE id = ANY(%s)", (list(ids),)
            ).fetchall()
            return dict(rows)

    def set_dates(self, dates: Mapping[str, str]) -> None:
        if not dates:
            return
        with self._server.writing() as connection, self._changing(connection):
            rows = connection.execute("SELECT key, id FROM document WHERE id = ANY(%s)", (list(dates),)).fetchall()
            self._insert(connection, "dated", [(key, dates[id]) for key, id in rows])

    def with_source(self, source: str) -> list[str]:
        with self._server.reading() as connection:
            return [
                id for (id,) in connection.execute("SELECT id FROM document WHERE source = %s ORDER BY id", (source,))
            ]

    def facts(self, id: str) -> tuple[str, bytes] | None:
        with self._server.reading() as connection:
            row = connection.execute("SELECT source, hash FROM document WHERE id = %s", (id,)).fetchone()
        if self._sources is not None:
            self._sources[id] = row[0] if row else None
        return (row[0], bytes(row[1])) if row else None

    def counts(self) -> tuple[int, int]:
        with self._server.reading() as connection:
            documents, passages = _one(connection, "SELECT count(*), coalesce(sum(passages), 0) FROM document")
            return int(documents), int(passages)

    def sent_hashes(self) -> set[bytes]:
        with self._server.reading() as connection:
            rows = connection.execute("SELECT hash FROM file WHERE source >= 'sent:' AND source < 'sent;'")
            return {bytes(hash) for (hash,) in rows}

    def file_hash(self, source: str) -> bytes | None:
        with self._server.reading() as connection:
            row = connection.execute("SELECT hash FROM file WHERE source = %s", (source,)).fetchone()
            return bytes(row[0]) if row else None

    def read_again(self, source: str) -> None:
        with self._server.writing() as connection:
            connection.execute("DELETE FROM file WHERE source = %s", (source,))

    def live_passages(self) -> Iterator[tuple[int, str, str]]:
        with self._server.reading() as connection:
            documents = [key for (key,) in connection.execute("SELECT key FROM document ORDER BY first")]
        yield from self.passages_of(documents)

    def live_keys(self) -> set[int]:
        with self._server.reading() as connection:
            return _expanded(connection.execute("SELECT first, passages FROM document").fetchall())

    def holds(self, text: str) -> bool:
        wanted = normalized(text)
        if not wanted:
            return bool(text.strip()) and any(text.strip() in inside for _, _, inside in self.live_passages())
        longest = max(wanted.split(), key=len)
        return any(
            f" {wanted} " in f" {normalized(inside)} "
            for _, _, inside in self.live_passages()
            if longest in _NO_MARKS.sub("", inside.casefold())
        )

    # What people said of answers, as JSON.

    def add_feedback(self, when: str, body: str) -> int:
        with self._server.writing() as connection:
            self._lock(connection)  # for its number
            (last,) = _one(connection, "SELECT coalesce(max(number), 0) FROM feedback")
            self._insert(connection, "feedback", [(last + 1, when, body)])
            return int(last + 1)

    def feedback(self) -> Iterator[tuple[int, str, str]]:
        after = 0
        while True:
            with self._server.reading() as connection:
                rows = connection.execute(
                    "SELECT number, given, body FROM feedback WHERE number > %s ORDER BY number LIMIT %s",
                    (after, _LISTED),
                ).fetchall()
            yield from rows
            if len(rows) < _LISTED:
                return
            after = rows[-1][0]

    # Facts about the library itself.

    def meta(self, name: str) -> Any:
        with self._server.reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = %s", (name,)).fetchone()
            return json.loads(row[0]) if row else None

    def identity(self) -> str:
        """By which a folder knows that its indexes are those of this database."""
        with self._server.reading() as connection:
            return str(_one(connection, "SELECT id FROM wherefrom")[0])

    @property
    def writable(self) -> bool:
        """Whether this user of the database may change it; one who may not can read."""
        with self._server.reading() as connection:
            allowed, standby = _one(connection, "SELECT has_table_privilege('document', 'INSERT'), pg_is_in_recovery()")
            return bool(allowed) and not standby

    # Opening, checking, closing.

    def open(self, facts: Mapping[str, object] | None = None) -> bool:
        """Whether there is a library; with `facts`, one is made where there is nothing, with these about it.

        Tables of an earlier format are brought up to date; foreign and newer ones are refused.
        """
        with self._server.writing() as connection:
            format = self._format(connection)
            if not format:
                if facts is None:
                    return False
                # Two machines may be at it: whoever comes second finds it made.
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                if not self._format(connection):
                    schema.create(connection)
                    self._insert(connection, "meta", [(name, json.dumps(value)) for name, value in facts.items()])
                return True
        with self._server.reading() as connection:
            if format < schema.FORMAT:
                schema.upgrade(connection)
            row = connection.execute("SELECT filled_from FROM wherefrom").fetchone()
        if row and row[0] is not None:
            raise self._unfinished(row[0])
        return True

    def _format(self, connection: Connection) -> int:
        (schema_name,) = _one(connection, "SELECT current_schema()")
        if schema_name is None:
            raise LibraryError(f"{self.name} names a schema that is not there; its owner makes it: CREATE SCHEMA NAME")
        format = schema.version(connection)
        if format is None:
            raise LibraryForeign(
                f"{self.name} holds tables of something else, which stay as they are; name an empty database"
            )
        if format > schema.FORMAT:
            raise LibraryTooNew(schema.too_new(format))
        return format

    def _unfinished(self, source: str) -> LibraryError:
        return LibraryError(
            f"{self.name} is not finished: the library at {source} was being moved there; finish it with the same "
            "`wherefrom move`, or empty the database"
        )

    # Being moved, and filled by a move.

    @contextmanager
    def moment(self) -> Iterator[PostgresMoment]:
        """All of it as of one instant, while others may be writing."""
        with self._server.snapshot() as connection:
            yield PostgresMoment(connection)

    def begin_filling(self, source: str) -> None:
        """Lay the tables for what is moved from `source`, or find them as an interrupted move has left them."""
        with self._server.writing() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if not self._format(connection):
                schema.create(connection, filled_from=source)
            (filled_from,) = _one(connection, "SELECT filled_from FROM wherefrom")
        if filled_from is None:
            raise LibraryError(
                f"there is a library in {self.name} already, which stays as it is; name an empty database"
            )
        if filled_from != source:
            raise self._unfinished(filled_from)

    def fill(self, documents: Sequence[DocumentRows]) -> None:
        """Write documents under the keys that they have."""
        with self._server.writing() as connection:
            self._insert_parts(connection, documents)
            with self._changing(connection) as change:
                self._refuse_filled(connection)
                self._insert_documents(connection, documents, change)

    def unfill(self, keys: Sequence[int]) -> None:
        """Take away documents that were filled in; no index has ever held them."""
        with self._server.writing() as connection:
            self._lock(connection)
            self._refuse_filled(connection)
            for table, column in (
                ("document", "key"),
                *((name, "document") for name in ("content", "passage", "place", "checksum", "dated")),
            ):
                connection.execute(f"DELETE FROM {table} WHERE {column} = ANY(%s)", (list(keys),))

    def fill_rest(self, rest: Rest) -> None:
        """Have what belongs to no single document as it is there."""
        with self._server.writing() as connection:
            self._lock(connection)
            self._refuse_filled(connection)
            for table, rows in (("tag", rest.tags), ("file", rest.files), ("feedback", rest.feedback)):
                connection.execute(f"DELETE FROM {table}")
                self._insert(connection, table, rows)
            self._insert(connection, "meta", [("settings", json.dumps(rest.settings))])
            connection.execute(
                "UPDATE wherefrom SET next_key = %s, next_document = %s", (rest.next_key, rest.next_document)
            )

    def end_filling(self) -> None:
        """From now on it is a store like any other."""
        with self._server.writing() as connection:
            connection.execute("UPDATE wherefrom SET filled_from = NULL")
        with self._server.reading() as connection:
            connection.execute("ANALYZE")  # how much there is of what; else the first questions are planned for nothing

    def _refuse_filled(self, connection: Connection) -> None:
        """An error where another process has finished the same move meanwhile."""
        (filled_from,) = _one(connection, "SELECT filled_from FROM wherefrom")
        if filled_from is None:
            raise LibraryError(f"another process has finished the move to {self.name}")

    def problems(self) -> Iterator[str]:
        try:
            with self._server.snapshot() as connection:
                yield from self._altered(connection)
        except LibraryDamaged as error:
            yield str(error)

    def _altered(self, connection: Connection) -> Iterator[str]:
        """What is not as it was written, in all tables but the documents'."""
        noted = connection.execute("SELECT value FROM meta WHERE name = 'tables'").fetchone()
        if noted is None or json.loads(noted[0]) != schema.tables_sum(connection):
            yield f"{self.name}: its tables are not what was laid"
        for table, columns in _COLUMNS.items():
            rows = connection.execute(f"SELECT {', '.join(columns)}, sum FROM {table}", binary=True)
            altered = sum(row_sum(row[:-1]) != bytes(row[-1]) for row in rows)
            if altered:
                yield f"{self.name}: {altered:,} rows of the table '{table}' are not what was written"
        for what, sql in _CONTRADICTIONS.items():
            (count,) = _one(connection, sql)
            if count:
                yield f"{self.name}: {count:,} {what}"

    def misfits(self, ids: Iterable[str] | None = None) -> Iterator[Misfit]:
        with self._server.reading() as connection:
            if ids is None:
                keys = [key for (key,) in connection.execute("SELECT key FROM document ORDER BY id")]
            else:
                rows = connection.execute("SELECT key FROM document WHERE id = ANY(%s) ORDER BY id", (list(ids),))
                keys = [key for (key,) in rows]
        for piece in in_pieces(keys, _READ):
            with self._server.snapshot() as connection:
                documents = list(self._rows(connection, "document.key = ANY(%s)", piece))
                sums = dict(
                    connection.execute(
                        "SELECT document, sum FROM checksum WHERE document = ANY(%s)", (piece,)
                    ).fetchall()
                )
            for rows in documents:
                wrong = misfit(rows, bytes(sums.get(rows.facts.key, b"")))
                if wrong:
                    yield wrong

    def copy_to(self, path: Path) -> None:
        """A database in one file with all there is at this instant, while others may be writing."""
        from wherefrom.store.move import copy_to_file

        copy_to_file(self, path)

    def close(self) -> None:
        self._server.close()


@dataclass(frozen=True, slots=True)
class PostgresMoment:
    """What is in a database as long as a transaction lasts."""

    connection: Connection

    def written(self) -> dict[int, Written]:
        rows = self.connection.execute(
            "SELECT key, sum, characters FROM document JOIN checksum ON checksum.document = key", binary=True
        )
        return {key: Written(bytes(sum), characters) for key, sum, characters in rows}

    def rows(self, keys: Sequence[int]) -> list[DocumentRows]:
        return list(PostgresStore._rows(self.connection, "document.key = ANY(%s)", list(keys)))

    def rest(self) -> Rest:
        execute = self.connection.execute
        settings = execute("SELECT value FROM meta WHERE name = 'settings'").fetchone()
        next_key, next_document = _one(self.connection, "SELECT next_key, next_document FROM wherefrom")
        return Rest(
            json.loads(settings[0]) if settings else None,
            tuple(execute("SELECT document, name FROM tag ORDER BY document, name")),
            tuple((source, bytes(hash)) for source, hash in execute("SELECT source, hash FROM file ORDER BY source")),
            tuple(execute("SELECT number, given, body FROM feedback ORDER BY number")),
            next_key,
            next_document,
        )


_CONTRADICTIONS = {
    "documents have no text": "SELECT count(*) FROM document LEFT JOIN content ON content.document = key "
    "WHERE content.document IS NULL",
    "texts belong to no document": "SELECT count(*) FROM content LEFT JOIN document ON content.document = key "
    "WHERE key IS NULL",
    "passages belong to no document": "SELECT count(*) FROM passage LEFT JOIN document "
    "ON document.key = passage.document WHERE document.key IS NULL",
    "documents have keys that are given again": "SELECT count(*) FROM document, wherefrom "
    "WHERE key >= next_document OR first + passages > next_key",
    "documents have keys that were retired": "SELECT count(*) FROM retired JOIN document USING (first) "
    "WHERE document.passages > 0",
    "documents are of changes that never were": "SELECT count(*) FROM document "
    "WHERE change > (SELECT coalesce(max(number), 0) FROM change)",
}


@dataclass(frozen=True, slots=True)
class _PostgresText:
    """The rows of one version of a document in PostgreSQL."""

    key: int
    first: int
    passages: int
    server: PostgresServer

    def spans(self, after: int, start: int, end: int, most: int) -> list[tuple[int, int, int]]:
        with self.server.reading() as connection:
            rows = connection.execute(
                "SELECT (key - %s)::integer, start, stop FROM passage WHERE key > %s AND key < %s AND stop > %s "
                "AND start < %s ORDER BY key LIMIT %s",
                (self.first, self.first + after, self.first + self.passages, start, end, most),
            ).fetchall()
        return list(rows)

    def first_place(self, start: int) -> int | None:
        with self.server.reading() as connection:
            (first,) = _one(
                connection,
                "SELECT coalesce(max(start), 0) FROM place WHERE document = %s AND start <= %s",
                self.key,
                start,
            )
            return int(first)

    def places(self, after: int, end: int, most: int) -> list[tuple[int, str, int | None]]:
        with self.server.reading() as connection:
            rows = connection.execute(
                "SELECT start, label, number FROM place WHERE document = %s AND start > %s AND start < %s "
                "ORDER BY start LIMIT %s",
                (self.key, after, end, most),
            ).fetchall()
        return list(rows)

    def before(self, start: int) -> tuple[int, int]:
        with self.server.reading() as connection:
            row = connection.execute(
                "SELECT start, byte_start FROM passage WHERE key >= %s AND key < %s AND start <= %s "
                "ORDER BY key DESC LIMIT 1",
                (self.first, self.first + self.passages, start),
            ).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def bytes_at(self, at: int, most: int) -> bytes | None:
        with self.server.reading() as connection:
            row = connection.execute(
                "SELECT substring(text FROM %s FOR %s) FROM content WHERE document = %s",
                (at + 1, most, self.key),
                binary=True,
            ).fetchone()
        return bytes(row[0]) if row else None


def _one(connection: Connection, sql: str, *values: object) -> Row:
    """The one row that a statement has."""
    row = connection.execute(sql, values).fetchone()
    if row is None:
        raise LibraryDamaged("the database has lost what it says of itself; restore it from its backup")
    return tuple(row)


def _copy(connection: Connection, table: str, rows: Iterable[Row]) -> None:
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        return
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        copy.write_row(first)
        for row in iterator:
            copy.write_row(row)


def _texts(rows: DocumentRows) -> Iterator[tuple[int, str, str]]:
    for key, _, start, stop, _, _, section in rows.passages:
        yield key, heading(rows.facts.title, section), rows.text[start:stop]


def _expanded(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {key for first, passages in ranges for key in range(first, first + passages)}


def _decoded(data: bytes) -> str:
    try:
        return bytes(data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise LibraryDamaged(
            f"a text in the database is not what was written ({error.reason}); `wherefrom check` says which"
        ) from error


def _sql(wanted: part_of.Conditions) -> str:
    return wanted.sql.replace("?", "%s")
