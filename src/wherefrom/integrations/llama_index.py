"""A retriever for LlamaIndex over a library.

from wherefrom.integrations.llama_index import LlamaIndexRetriever
LlamaIndexRetriever("my-library", k=4).retrieve("When does the garden open?")
"""

from __future__ import annotations

from pathlib import Path

from wherefrom.integrations.searching import FrameworkMissing, SearchedLibrary, metadata
from wherefrom.library import Library
from wherefrom.types import Filter, Hit

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise FrameworkMissing("this needs LlamaIndex: pip install llama-index-core") from error


class LlamaIndexRetriever(BaseRetriever):  # type: ignore[misc]  # checked where LlamaIndex is installed
    """The `k` best passages of a library for a question, as nodes with their place and score."""

    def __init__(self, library: str | Path | Library | None = None, k: int = 8, within: Filter | None = None) -> None:
        super().__init__()
        self._searched = SearchedLibrary(library)
        self._k = k
        self._within = within

    def close(self) -> None:
        self._searched.close()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._searched.hits(query_bundle.query_str, self._k, self._within)
        return [NodeWithScore(node=_node(hit), score=hit.score) for hit in hits]


def _node(hit: Hit) -> TextNode:
    passage = hit.passage
    return TextNode(
        id_=passage.id,
        text=passage.text,
        metadata=dict(metadata(hit)),
        start_char_idx=passage.start,
        end_char_idx=passage.end,
    )
