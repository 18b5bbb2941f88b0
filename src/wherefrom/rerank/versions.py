"""Old and new versions of one text: the newest is preferred, and where sources disagree that is told.

Two documents are versions of one text where the passages that answer say nearly the same words, or many of them and
their names differ by a version or a date alone. Which is newer is told by the version in their names, else by the date
in their names, else by the date that was kept when they were read. All of it looks at a question's candidates alone,
and at nothing where they are from one document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wherefrom.text import normalized
from wherefrom.types import Candidate, Disagreement, Hit, Passage

Dates = Callable[[Sequence[str]], Mapping[str, str]]  # of documents, by id; "" where none is known

_NEAR = 3.0  # of log scores: how far behind the newer version's answer may be; it is worded a little otherwise
_RIVAL = 0.7  # ... and the answer of a document that is no version: at least half as likely
_RELEVANT = 0.5  # ... with a passage that answers the question by itself
_ALIKE = 0.5  # shared word triples of passages that are the same text, whatever their documents are called
_NAMESAKES = 0.15  # ... where the names differ by a version alone
_MOST = 2  # other answers

_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:[-_. ]?(0[1-9]|1[0-2])(?:[-_. ]?([0-2]\d|3[01]))?)?(?!\d)")
_VERSION = re.compile(
    r"(?<![a-z0-9])(?:v|ver|version|rev|revision|release|edition)[-_. ]?(\d+(?:[._]\d+)*)(?![a-z0-9])"
)
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)+)(?![\w])")
_STATE = re.compile(r"(?<![a-z])(?:old|new|newest|latest|current|draft|final|copy|updated|previous)(?![a-z])")
_SUFFIX = re.compile(r"\.[a-z]\w{0,4}(?:\.(?:gz|xz))?$")


class VersionedSources:
    """Needs a store that knows documents' dates, and scores that are log probabilities: the span reader's."""

    def __init__(self, dates: Dates) -> None:
        self._dates = dates

    def newest_first(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The best candidate's newest version, if it is near enough, before all others."""
        if not _several(candidates):
            return list(candidates)
        best = candidates[0]
        dates: Mapping[str, str] | None = None
        newest = best
        for candidate in candidates[1:]:
            if best.score - candidate.score <= _NEAR and are_versions(newest.passage, candidate.passage):
                dates = self._dated(candidates) if dates is None else dates
                if is_newer(candidate.passage, newest.passage, dates):
                    newest = candidate
        if newest is best:
            return list(candidates)
        others = [candidate for candidate in candidates if candidate is not newest]
        return [newest.rescored("newest", best.score), *others]

    def disagreements(self, hits: Sequence[Hit], candidates: Sequence[Candidate]) -> tuple[Disagreement, ...]:
        """What other documents say instead of the first candidate: versions of its own, or as good ones."""
        if not _several(candidates):
            return ()
        best = candidates[0]
        relevance = {hit.passage.id: hit.features.get("rank", 0.0) for hit in hits}
        others: dict[str, Candidate] = {}
        for candidate in candidates[1:]:
            if candidate.passage.document_id == best.passage.document_id or _agree(best.text, candidate.text):
                continue
            rival = best.score - candidate.score <= _RIVAL and (
                min(relevance.get(best.passage.id, 0.0), relevance.get(candidate.passage.id, 0.0)) >= _RELEVANT
            )
            version = best.score - candidate.score <= _NEAR and are_versions(best.passage, candidate.passage)
            known = any(_agree(candidate.text, other.text) for other in others.values())
            if (rival or version) and not known and candidate.passage.document_id not in others:
                others[candidate.passage.document_id] = candidate
        if not others:
            return ()
        dates = self._dated(candidates)
        return tuple(
            Disagreement(
                other.text,
                other.passage,
                other.start,
                other.end,
                dates.get(id, ""),
                are_versions(best.passage, other.passage) and is_newer(best.passage, other.passage, dates),
            )
            for id, other in list(others.items())[:_MOST]
        )

    def _dated(self, candidates: Sequence[Candidate]) -> Mapping[str, str]:
        return self._dates(sorted({candidate.passage.document_id for candidate in candidates}))


def are_versions(one: Passage, other: Passage) -> bool:
    """Whether two passages of different documents are the same text at two times."""
    if one.document_id == other.document_id:
        return False
    shared = _shared(one.text, other.text)
    return shared >= _ALIKE or (shared >= _NAMESAKES and bool(_namesakes(one, other)))


def is_newer(one: Passage, other: Passage, dates: Mapping[str, str]) -> bool:
    """Whether the first passage's document is newer than the second's: by names, else by the dates kept."""
    for mine, theirs in ((_name(one.title), _name(other.title)), (_name(one.document_id), _name(other.document_id))):
        for number, other_number in ((mine.version, theirs.version), (mine.date, theirs.date)):
            if mine.stem == theirs.stem and number and other_number and number != other_number:
                return number > other_number
    mine_kept, theirs_kept = dates.get(one.document_id, ""), dates.get(other.document_id, "")
    return bool(mine_kept and theirs_kept) and mine_kept > theirs_kept


@dataclass(frozen=True, slots=True)
class _Name:
    """A title or an id taken apart."""

    stem: str  # without versions and dates
    version: tuple[int, ...]
    date: tuple[int, ...]


def _name(text: str) -> _Name:
    plain = _SUFFIX.sub("", text.casefold())
    version = _VERSION.search(plain) or _NUMBER.search(plain)
    date = None if version is not None and _NUMBER.search(plain) else _DATE.search(plain)
    stem = plain
    for pattern in (_VERSION, _NUMBER, _DATE, _STATE):
        stem = pattern.sub(" ", stem)
    return _Name(
        " ".join(re.findall(r"[^\W_]+", stem)),
        _numbers(version[1]) if version else (),
        tuple(int(part) for part in date.groups() if part) if date else (),
    )


def _namesakes(one: Passage, other: Passage) -> str:
    """The stem that both names share, by title or by id."""
    titles = (_name(one.title).stem, _name(other.title).stem)
    ids = (_name(one.document_id).stem, _name(other.document_id).stem)
    return next((first for first, second in (titles, ids) if first and first == second), "")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.split(r"[._]", text))


def _shared(one: str, other: str) -> float:
    """The share of word triples of the shorter text that the other has too."""
    first, second = _triples(one), _triples(other)
    least = min(len(first), len(second))
    return len(first & second) / least if least else 0.0


def _triples(text: str) -> set[tuple[str, ...]]:
    words = normalized(text).split()
    return {tuple(words[place : place + 3]) for place in range(len(words) - 2)}


def _agree(one: str, other: str) -> bool:
    """Whether two answers say the same, or one says a part of the other."""
    first, second = f" {normalized(one)} ", f" {normalized(other)} "
    return first in second or second in first


def _several(candidates: Sequence[Candidate]) -> bool:
    """Whether the candidates are of several documents, with scores that can be compared."""
    return (
        len(candidates) > 1
        and "span" in candidates[0].features
        and any(candidate.passage.document_id != candidates[0].passage.document_id for candidate in candidates)
    )
