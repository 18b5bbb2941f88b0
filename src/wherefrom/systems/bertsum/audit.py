"""Whether the queries of a dataset matter: how much of them stands in the document and in the summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from wherefrom.features.overlap import Stems
from wherefrom.features.polarity import asks_yes_no


@dataclass(frozen=True, slots=True)
class Triple:
    """A query, its document and its summary."""

    query: str
    document: str
    summary: str


def query_audit(triples: Sequence[Triple]) -> dict[str, float]:
    """Shares, from 0 to 1, of the content words of queries that the document and the summary hold; beside them those of
    queries of other triples, which cannot matter. `unrelated` shares no word with either; `yes_no` asks for no more.
    """
    stems = Stems("english")
    queries = [frozenset(stems(each.query)) for each in triples]
    documents = [frozenset(stems(each.document)) for each in triples]
    summaries = [frozenset(stems(each.summary)) for each in triples]
    places = [place for place, query in enumerate(queries) if query]
    if not places:
        return {}

    def held(texts: Sequence[frozenset[str]], shift: int = 0) -> float:
        return fmean(len(queries[at] & texts[(at + shift) % len(texts)]) / len(queries[at]) for at in places)

    apart = max(len(triples) // 2, 1)  # far enough: neighbours are of one debate
    return {
        "queries": float(len(places)),
        "in_document": held(documents),
        "in_summary": held(summaries),
        "in_other_document": held(documents, apart),
        "in_other_summary": held(summaries, apart),
        "summary_in_document": fmean(
            len(one & other) / len(one) for one, other in zip(summaries, documents, strict=True) if one
        ),
        "unrelated": fmean(not queries[at] & (documents[at] | summaries[at]) for at in places),
        "yes_no": fmean(asks_yes_no(triples[at].query) for at in places),
    }
