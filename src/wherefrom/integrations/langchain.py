"""A retriever for LangChain over a library.

from wherefrom.integrations.langchain import LangChainRetriever
LangChainRetriever(library="my-library", k=4).invoke("When does the garden open?")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wherefrom.integrations.searching import FrameworkMissing, SearchedLibrary, metadata
from wherefrom.library import Library
from wherefrom.types import Filter

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, PrivateAttr
except ImportError as error:
    raise FrameworkMissing("this needs LangChain: pip install langchain-core") from error


class LangChainRetriever(BaseRetriever):  # type: ignore[misc]  # checked where LangChain is installed
    """The `k` best passages of a library for a question, as documents with their place."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    library: str | Path | Library | None = None  # a folder; None: `WHEREFROM_LIBRARY`, else the user's own
    k: int = Field(8, ge=1)
    within: Filter | None = None  # the part of the library that is searched
    _searched: SearchedLibrary = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        self._searched = SearchedLibrary(self.library)

    def close(self) -> None:
        self._searched.close()

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002
        hits = self._searched.hits(query, self.k, self.within)
        return [Document(hit.passage.text, id=hit.passage.id, metadata=dict(metadata(hit))) for hit in hits]
