"""The BM25 index as sparse vectors in a Qdrant server, and with them the dense vectors of an embedder.

Qdrant multiplies and adds; the numbers are ours. A passage has a weight a term, a question an idf a term, and what is
found is scored once more here, with the mean length as it is now: so the hits are those of the index on disk.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from wherefrom.config import IndexSettings
from wherefrom.errors import LibraryDamaged, LibraryTooNew, SettingsError
from wherefrom.retrieve import okapi
from wherefrom.retrieve.analysis import Analysis
from wherefrom.retrieve.rest import RestError, RestServer
from wherefrom.retrieve.terms import Terms
from wherefrom.stages import KeyRanges

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = 1
NOTE = "collection.json"
URL = "http://127.0.0.1:6333"  # where a Qdrant server listens unless it is told otherwise
KEY = "WHEREFROM_QDRANT_KEY"  # the environment variable with the server's key: settings are shown to people
_REMEDY = (
    "start it, or name where it is with retrieve.url; nothing that was acknowledged is lost, and `--set "
    "retrieve.kind=bm25` asks the index on this disk where the library has one"
)
_MARK = "00000000-0000-0000-0000-000000000001"  # the point that says which commit the server has seen
_POINTS = 1_000  # sent together: a good megabyte
_PAGE = 10_000  # keys that are listed together
_SPARE = 8  # hits fetched beyond k
_GROWN = 1.03  # a mean length that has grown by more has the weights of before made anew; until then more is fetched
_FEW_RANGES = 64  # of keys that the server is told; more are sifted here where that takes few hits
_MOST_SIFTED = 8_192
_ROUNDING = 1e-5  # the server adds in 32 bits


_Reply = TypeVar("_Reply")
_Filter = dict[str, Any]


class Embedder(Protocol):
    """Vectors for texts, which are compared by their cosine."""

    @property
    def width(self) -> int: ...

    @property
    def identity(self) -> str:
        """What the vectors are made by: those of other weights cannot be compared with them."""
        ...

    def vectors(self, texts: Sequence[str]) -> NDArray[Any]:
        """(texts, width), of numbers of any kind"""
        ...


class _Sparse(msgspec.Struct):
    indices: list[int]
    values: list[float]


class _Facts(msgspec.Struct):
    """What a point says of its passage beside the vectors."""

    key: int
    batch: int  # the commit that it came with
    terms: int  # how many the passage has
    mean: float  # the mean length that its weights were made with


class _Vectors(msgspec.Struct, omit_defaults=True):
    words: _Sparse | None = None
    meaning: list[float] | None = None


class _Stored(msgspec.Struct):
    """A point as it is sent."""

    id: int
    payload: _Facts
    vector: _Vectors


class _Point(msgspec.Struct):
    """A point as it comes back, with what was asked for."""

    id: int
    score: float = 0.0
    payload: _Facts | None = None
    vector: _Vectors | None = None

    @property
    def facts(self) -> _Facts:
        assert self.payload is not None
        return self.payload

    @property
    def words(self) -> _Sparse:
        return (self.vector and self.vector.words) or _Sparse([], [])


class _Points(msgspec.Struct):
    points: list[_Point]
    next_page_offset: int | str | None = None


class _Page(msgspec.Struct):
    result: _Points


class _Pages(msgspec.Struct):
    result: list[_Points]


class _Retrieved(msgspec.Struct):
    result: list[_Point]


class _Mark(msgspec.Struct):
    payload: dict[str, str]


class _Marks(msgspec.Struct):
    result: list[_Mark]


class _Number(msgspec.Struct):
    count: int


class _Count(msgspec.Struct):
    result: _Number


@dataclass(slots=True)
class _State:
    """What `terms.sqlite` says of the index as it was last committed."""

    collection: str
    url: str
    dense: str  # the embedder whose vectors are kept beside the words; "" for none
    identity: str  # of its weights
    mark: str  # of the last commit, which the server should have seen
    coming: str  # of the next one, while a writer is at it
    commit: int
    passages: int
    tokens: int
    postings: int  # pairs of a passage and a term that it holds
    least_mean: float  # that any passage's weights were made with
    format: int = FORMAT

    @property
    def mean(self) -> float:
        return self.tokens / max(self.passages, 1)


@dataclass(slots=True)
class _Batch:
    """What a writer has put and removed since the last commit; `state` is what the next one will say."""

    state: _State
    put: int = 0
    removed: set[int] = field(default_factory=set)


class QdrantIndex:
    """Finds what `BM25Index` finds, in a collection of its own on a Qdrant server.

    A writer's passages lie on the server, marked with the commit to come, before one transaction in `terms.sqlite` on
    this disk says that they count. What a killed writer or server leaves half done, the next writer clears away.
    `dense` names an embedder, which `embedder` gives: its vectors are kept too, and `search_both` finds by both.
    """

    def __init__(
        self,
        path: Path,
        settings: IndexSettings,
        url: str = "",
        dense: str = "",
        embedder: Callable[[str], Embedder] | None = None,
    ) -> None:
        self.path = path
        self._terms = Terms(path)
        self._analysis = Analysis(settings.language)
        self._url = url
        self._dense = dense
        self._embedder = embedder
        self._opened: RestServer | None = None
        self._batch: _Batch | None = None
        self._looked = False

    # Writing.

    def create(self) -> None:
        if not self._terms.exists():
            name, url = f"wherefrom-{uuid.uuid4().hex}", self._url or URL
            identity = self._embedder(self._dense).identity if self._dense and self._embedder else ""
            first = _State(name, url, self._dense, identity, _new_mark(), "", 0, 0, 0, 0, 0.0)
            self.path.mkdir(parents=True, exist_ok=True)
            # For people, and for `check`: the database, which changes, looks after itself.
            (self.path / NOTE).write_bytes(msgspec.json.encode({"format": FORMAT, "collection": name, "url": url}))
            self._terms.create(_as_mapping(first))
        state = self._state()
        if state.commit == 0:
            self._create_collection(state)

    def put(self, keys: Sequence[int], texts: Sequence[str]) -> None:
        """Passages under keys that were never used before; with none, what a killed writer left is cleared away."""
        batch = self._begin()
        counted = [Counter(self._analysis.of_passage(text)) for text in texts]
        held = Counter(term for terms in counted for term in terms)
        numbers = self._terms.count(held) if held else {}
        state = batch.state
        state.passages += len(keys)
        state.tokens += sum(terms.total() for terms in counted)
        state.postings += held.total()
        if keys:
            state.least_mean = min(state.least_mean or state.mean, state.mean)
        batch.put += len(keys)
        self._send(zip(keys, texts, counted, strict=True), numbers, state)

    def remove(self, keys: Sequence[int]) -> None:
        batch = self._begin()
        gone: Counter[int] = Counter()
        for some in _in_pieces(keys, _POINTS):
            for point in self._points_at([key for key in some if key not in batch.removed]):
                batch.removed.add(point.id)
                batch.state.passages -= 1
                batch.state.tokens -= point.facts.terms
                gone.update(point.words.indices)
        batch.state.postings -= gone.total()
        self._terms.discount(gone)
        self._terms.drop(batch.removed)

    def commit(self) -> None:
        batch = self._batch
        if batch is None:
            return
        state = batch.state
        if state.least_mean and state.mean > _GROWN * state.least_mean:
            state.least_mean = self._weighed_again(state.mean)
        self._confirm(batch)
        state.mark, state.coming, state.url = state.coming, "", self._server(state).url
        self._terms.commit(_as_mapping(state))
        self._batch = None
        self._take_dropped()

    def _begin(self) -> _Batch:
        """Note which commit is to come before anything of it is sent."""
        if self._batch is None:
            state = self._state()
            self._refuse_foreign(state)
            if state.coming:
                self._request(
                    "POST", "/points/delete?wait=true", {"filter": {"must": [_later_than(state.commit)]}}, patient=True
                )
            self._take_dropped()
            state.coming = _new_mark()
            self._terms.begin(state.coming)
            state.commit += 1
            self._batch = _Batch(state)
        return self._batch

    def _confirm(self, batch: _Batch) -> None:
        """See that the server has all that was put, and let it note the commit."""
        state = batch.state
        sent = self._count([_later_than(state.commit - 1)])
        if sent != batch.put:
            raise LibraryDamaged(
                f"the Qdrant server at {self._server(state).url} has {sent:,} of {batch.put:,} passages that were "
                "written: another process may have written too; do it again, or `wherefrom check` makes the index anew"
            )
        self._refuse_foreign(self._state())
        self._set_mark(state.coming)

    def _take_dropped(self) -> None:
        dropped = self._terms.dropped()
        for some in _in_pieces(dropped, _PAGE):
            self._request("POST", "/points/delete?wait=true", {"points": some}, patient=True)
        if dropped:
            self._terms.forget_dropped()

    def _send(
        self, passages: Iterable[tuple[int, str, Counter[str]]], numbers: Mapping[str, int], state: _State
    ) -> None:
        mean = state.mean
        for some in _in_pieces(passages, _POINTS):
            points = []
            for key, _, terms in some:
                length = terms.total()
                kept = okapi.kept_length(length)
                indices = [numbers[term] for term in terms]
                weights = [okapi.weight(times, kept, mean) for times in terms.values()]
                words = _Sparse(indices, weights) if terms else None
                points.append(_Stored(key, _Facts(key, state.commit, length, mean), _Vectors(words)))
            if state.dense:
                vectors = self._embeds(state).vectors([text for _, text, _ in some])
                for point, vector in zip(points, vectors.tolist(), strict=True):
                    point.vector.meaning = vector
            self._request("PUT", "/points?wait=true", {"points": points}, patient=True)

    def _weighed_again(self, mean: float) -> float:
        """Make the weights of before anew where the mean length has grown; the least that any are made with then."""
        short = {"must": [{"key": "mean", "range": {"lt": mean / _GROWN}}]}
        for page in self._pages(short, _POINTS, {"with_vector": True}):
            for point in page:
                facts, words = point.facts, point.words
                kept = okapi.kept_length(facts.terms)
                counts = [okapi.frequency(value, kept, facts.mean) for value in words.values]
                words.values = [okapi.weight(count, kept, mean) for count in counts]
                facts.mean = mean
            points = [_Stored(point.id, point.facts, point.vector or _Vectors()) for point in page]
            self._request("PUT", "/points?wait=true", {"points": points}, patient=True)
        return mean / _GROWN

    # What a server may lose.

    def behind(self) -> bool:
        """Whether the server holds other passages than were committed; an error where it has nothing of them."""
        state = self._state()
        mark = self._refuse_foreign(state)
        return mark not in (state.mark, state.coming) or not self._complete(state)

    def catch_up(self, live: set[int], texts: Callable[[set[int]], Iterable[tuple[int, str]]]) -> int:
        """Give the server the passages that it has lost, and take those that it should not have; how many were given.

        `texts` gives the passages of keys. What is counted of them is not lost, for it is kept on this disk.
        """
        state = self._state()
        self._refuse_foreign(state)
        there = self.keys()
        for some in _in_pieces(sorted(there - live), _PAGE):
            self._request("POST", "/points/delete?wait=true", {"points": some}, patient=True)
        given = 0
        for pairs in _in_pieces(texts(live - there), _POINTS):
            counted = [Counter(self._analysis.of_passage(text)) for _, text in pairs]
            known = self._terms.known(list({term for terms in counted for term in terms}))
            numbers = {term: number for term, (number, _) in known.items()}
            lost = ((key, text, terms) for (key, text), terms in zip(pairs, counted, strict=True))
            self._send(lost, numbers, state)
            given += len(pairs)
        self._set_mark(state.mark)
        self._looked = False
        return given

    def erase(self) -> None:
        """Take the collection from the server, unless another library has written to it."""
        self._refuse_foreign(self._state())
        self._request("DELETE", "")
        self.close()

    def _complete(self, state: _State) -> bool:
        counted = self._count([_up_to(state.commit)])
        return state.passages <= counted <= state.passages + len(self._terms.dropped())

    def _refuse_foreign(self, state: _State) -> str:
        """The mark on the server; an error where it is none that this library ever made."""
        reply = self._reply("/points", {"ids": [_MARK], "with_payload": True}, _Marks)
        mark = reply.result[0].payload.get("mark", "") if reply.result else ""
        if mark and mark not in (state.mark, state.coming) and not self._terms.made(mark):
            raise LibraryDamaged(
                f"the collection {state.collection} at {self._server(state).url} was changed by another library, "
                "perhaps a copy of this one; `wherefrom check` makes the index anew, in a collection of its own"
            )
        return mark

    def _set_mark(self, mark: str) -> None:
        point = {"id": _MARK, "payload": {"mark": mark}, "vector": {}}
        self._request("PUT", "/points?wait=true", {"points": [point]}, patient=True)

    # Reading.

    def search(self, texts: Sequence[str], k: int, within: KeyRanges | None = None) -> list[list[tuple[int, float]]]:
        if not texts:
            return []
        state = self._looked_at()
        return [self._search_one(text, k, within, state) for text in texts]

    def search_both(
        self, texts: Sequence[str], k: int, within: KeyRanges | None = None, pool: int = 100
    ) -> list[list[tuple[int, float]]]:
        """By words and by meaning, of each the `pool` best; the server fuses their ranks, the sum of 1 / (2 + rank).

        Ranks count from 0; those by words are of the weights as they lie on the server.
        """
        return self._fused(texts, k, within, max(pool, k), by_words=True)

    def search_meaning(
        self, texts: Sequence[str], k: int, within: KeyRanges | None = None
    ) -> list[list[tuple[int, float]]]:
        """By the cosine of the embedder's vectors alone."""
        return self._fused(texts, k, within, k, by_words=False)

    def keys(self) -> set[int]:
        state = self._state()
        self._terms.check(state.postings)
        self._refuse_foreign(state)
        dropped = set(self._terms.dropped())
        pages = self._pages({"must": [_up_to(state.commit)]}, _PAGE, {"with_payload": False})
        return {point.id for page in pages for point in page} - dropped

    def term(self, word: str) -> str | None:
        """What a word is indexed as; None where that is not one term."""
        return self._analysis.term(word)

    def frequency(self, term: str) -> int:
        """How many passages hold a term."""
        return self._terms.known([term]).get(term, (0, 0))[1]

    def beginning(self, start: str, most: int) -> list[tuple[str, int]]:
        """The commonest terms that begin so, with how many passages hold each."""
        return self._terms.beginning(start, most)

    def refresh(self) -> None:
        self._looked = False

    def close(self) -> None:
        """What was put and not committed is given up."""
        self._batch = None
        self._terms.close()
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _search_one(self, text: str, k: int, within: KeyRanges | None, state: _State) -> list[tuple[int, float]]:
        """The k best by the numbers as they are now, certainly.

        The server's weights may be of a smaller mean length, by which no score can be smaller than it is now by more
        than their ratio. So it is asked for more until nothing beyond what it gave can be among the k best.
        """
        terms = self._analysis.of_question(text)
        known = self._terms.known(list(terms))
        wanted = {
            known[term][0]: times * okapi.idf(known[term][1], state.passages)
            for term, times in terms.items()
            if term in known
        }
        if not wanted or (within is not None and not len(within)):
            return []
        limit = k + k // 2 + _SPARE
        only: list[_Filter] = []
        if within is not None:
            expected = 2 * k * state.passages // len(within) + _SPARE
            if len(within.firsts) <= _FEW_RANGES or expected > _MOST_SIFTED:
                only = [_in_ranges(within)]
            else:
                limit = max(limit, expected)
        slack = (1 + _ROUNDING) * max(1.0, state.mean / (state.least_mean or state.mean))
        dropped = set(self._terms.dropped())
        while True:
            points = self._nearest(wanted, limit, only)
            scored = [
                (point.id, _score(point, wanted, state.mean))
                for point in points
                if point.facts.batch <= state.commit
                and point.id not in dropped
                and (within is None or point.id in within)
            ]
            scored.sort(key=lambda pair: (-pair[1], pair[0]))
            if len(points) < limit or (len(scored) >= k and scored[k - 1][1] > points[-1].score * slack):
                return scored[:k]
            limit *= 2

    def _nearest(self, wanted: Mapping[int, float], limit: int, only: Sequence[_Filter]) -> list[_Point]:
        body: dict[str, Any] = {
            "query": {"indices": list(wanted), "values": list(wanted.values())},
            "using": "words",
            "limit": limit,
            "with_payload": True,
            "with_vector": ["words"],
        }
        if only:
            body["filter"] = {"must": list(only)}
        return self._reply("/points/query", body, _Page).result.points

    def _fused(
        self, texts: Sequence[str], k: int, within: KeyRanges | None, pool: int, by_words: bool
    ) -> list[list[tuple[int, float]]]:
        if not texts:
            return []
        state = self._looked_at()
        if not state.dense:
            raise SettingsError(
                f"the index in {self.path} has no vectors; `wherefrom index qdrant --set retrieve.dense=NAME` makes it "
                "anew with them"
            )
        must = [_up_to(state.commit)]
        if within is not None:
            must.append(_in_ranges(within))
        dropped = self._terms.dropped()
        seen: _Filter = {"must": must, "must_not": [{"has_id": dropped}] if dropped else []}
        vectors = self._embeds(state).vectors(texts).tolist()
        searches = []
        for text, vector in zip(texts, vectors, strict=True):
            terms = self._analysis.of_question(text)
            known = self._terms.known(list(terms))
            values = {known[t][0]: n * okapi.idf(known[t][1], state.passages) for t, n in terms.items() if t in known}
            meant: dict[str, Any] = {"query": vector, "using": "meaning", "limit": pool, "filter": seen}
            if by_words:
                sparse = {"indices": list(values), "values": list(values.values())}
                prefetch = [meant, {"query": sparse, "using": "words", "limit": pool, "filter": seen}]
                searches.append(
                    {"prefetch": prefetch[: 1 + bool(values)], "query": {"fusion": "rrf"}, "limit": 2 * pool}
                )
            else:
                searches.append(meant)
        pages = self._reply("/points/query/batch", {"searches": searches}, _Pages).result
        return [
            sorted(((point.id, point.score) for point in page.points), key=lambda pair: (-pair[1], pair[0]))[:k]
            if terms
            else []
            for page, terms in zip(pages, (self._analysis.of_question(text) for text in texts), strict=True)
        ]

    def _looked_at(self) -> _State:
        """What counts now; whether the server has all of it is looked at when it may have changed."""
        state = self._state()
        if not self._looked:
            mark = self._refuse_foreign(state)
            if mark not in (state.mark, state.coming) or not self._complete(state):
                state = self._state()  # a writer may have committed between the two
                if self.behind():
                    raise LibraryDamaged(
                        f"the Qdrant server at {self._server(state).url} has lost passages that it had; `wherefrom "
                        "check`, or whatever writes to the library next, gives them to it again"
                    )
            self._looked = True
        return state

    # The server.

    def _state(self) -> _State:
        known = self._terms.state()
        if int(known["format"]) > FORMAT:
            raise LibraryTooNew(
                f"the index in {self.path} is of a later version of wherefrom; upgrade wherefrom to open it"
            )
        return _State(**known)  # type: ignore[arg-type]

    def _server(self, state: _State | None = None) -> RestServer:
        if self._opened is None:
            url = self._url or (state or self._state()).url
            self._opened = RestServer(url, "Qdrant server", _REMEDY, os.environ.get(KEY))
            self._opened.renewed = self.refresh
        return self._opened

    def _create_collection(self, state: _State) -> None:
        try:
            self._refuse_foreign(state)
        except LibraryDamaged:
            vectors = {}
            if state.dense:
                vectors["meaning"] = {"size": self._embeds(state).width, "distance": "Cosine", "on_disk": True}
            self._request("PUT", "", {"vectors": vectors, "sparse_vectors": {"words": {}}, "on_disk_payload": True})
        for name in ("key", "batch"):
            schema = {"type": "integer", "lookup": False, "range": True}
            self._request("PUT", "/index?wait=true", {"field_name": name, "field_schema": schema})
        self._set_mark(state.mark)

    def _embeds(self, state: _State) -> Embedder:
        if self._embedder is None:
            raise SettingsError(f"the index in {self.path} keeps vectors of {state.dense}, which cannot be made here")
        embedder = self._embedder(state.dense)
        if embedder.identity != state.identity:
            raise SettingsError(
                f"the index in {self.path} keeps vectors of {state.identity}, and those of {embedder.identity} cannot "
                "be compared with them; `wherefrom index qdrant` makes it anew"
            )
        return embedder

    def _points_at(self, keys: Sequence[int]) -> list[_Point]:
        if not keys:
            return []
        body = {"ids": list(keys), "with_payload": True, "with_vector": ["words"]}
        return self._reply("/points", body, _Retrieved).result

    def _count(self, must: Sequence[_Filter]) -> int:
        return self._reply("/points/count", {"filter": {"must": must}, "exact": True}, _Count).result.count

    def _pages(self, only: _Filter, size: int, more: Mapping[str, object]) -> Iterator[list[_Point]]:
        offset: int | str | None = None
        while True:
            body = {"filter": only, "limit": size, "offset": offset, "with_payload": True, **more}
            page = self._reply("/points/scroll", body, _Page).result
            if page.points:
                yield page.points
            offset = page.next_page_offset
            if offset is None:
                return

    def _reply(self, path: str, body: object, reply: type[_Reply]) -> _Reply:
        return msgspec.json.decode(self._request("POST", path, body), type=reply)

    def _request(self, method: str, path: str, body: object = None, patient: bool = False) -> bytes:
        state = self._state()
        try:
            return self._server(state).send(method, f"/collections/{state.collection}{path}", body, patient)
        except RestError as error:
            if error.status != 404:
                raise
            raise LibraryDamaged(
                f"the Qdrant server at {self._server(state).url} has no collection {state.collection}; if that is the "
                "right server, `wherefrom check` makes the index anew"
            ) from error


class FusedSearch:
    """The index, searched by words and by meaning at once."""

    def __init__(self, index: QdrantIndex, pool: int) -> None:
        self._index = index
        self._pool = pool

    def search(self, texts: Sequence[str], k: int, within: KeyRanges | None = None) -> list[list[tuple[int, float]]]:
        return self._index.search_both(texts, k, within, self._pool)


def _score(point: _Point, wanted: Mapping[int, float], mean: float) -> float:
    """BM25 with the mean length as it is now."""
    facts, words = point.facts, point.words
    length = okapi.kept_length(facts.terms)
    weights = dict(zip(words.indices, words.values, strict=True))
    return sum(
        value * okapi.weight(okapi.frequency(weights[number], length, facts.mean), length, mean)
        for number, value in wanted.items()
        if number in weights
    )


def _up_to(commit: int) -> _Filter:
    return {"key": "batch", "range": {"lte": commit}}


def _later_than(commit: int) -> _Filter:
    return {"key": "batch", "range": {"gt": commit}}


def _in_ranges(within: KeyRanges) -> _Filter:
    ranges = zip(within.firsts, within.stops, strict=True)
    return {"should": [{"key": "key", "range": {"gte": first, "lt": stop}} for first, stop in ranges]}


def _new_mark() -> str:
    return uuid.uuid4().hex


def _as_mapping(state: _State) -> dict[str, int | float | str]:
    return {name: getattr(state, name) for name in state.__slots__}


_Item = TypeVar("_Item")


def _in_pieces(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while piece := list(islice(iterator, size)):
        yield piece
