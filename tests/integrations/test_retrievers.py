"""Retrievers of other frameworks, against the frameworks themselves where they are installed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.integrations.searching import FrameworkMissing, SearchedLibrary
from wherefrom.types import Document, Filter

DOCUMENTS = [
    Document("mill.md", "The mill was built by Ann Lee in 1790. The mill is 21 metres high.", "The mill"),
    Document("gates/gate.md", "The gate was built by Bob Moss in 1804.", "The gate"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Library(tmp_path / "library") as library:
        library.put(DOCUMENTS)
    return tmp_path / "library"


def test_a_library_is_searched_from_any_thread(path: Path) -> None:
    searched = SearchedLibrary(path)

    async def run() -> list[str]:
        asked = [asyncio.to_thread(searched.hits, "Who built the gate?", 1, None) for _ in range(4)]
        return [hits[0].passage.document_id for hits in await asyncio.gather(*asked)]

    assert asyncio.run(run()) == ["gates/gate.md"] * 4
    assert len(searched.hits("Who built the mill?", 5, Filter(folders=("gates",)))) == 1
    searched.close()


def test_langchain(path: Path) -> None:
    pytest.importorskip("langchain_core", reason="LangChain is not installed")
    from wherefrom.integrations.langchain import LangChainRetriever

    retriever = LangChainRetriever(library=path, k=1)
    (document,) = retriever.invoke("Who built the mill?")
    assert document.page_content == DOCUMENTS[0].text
    assert document.id == "mill.md#0"
    assert {name: document.metadata[name] for name in ("source", "title", "start")} == {
        "source": "mill.md",
        "title": "The mill",
        "start": 0,
    }
    (later,) = asyncio.run(retriever.ainvoke("Who built the gate?"))
    assert later.metadata["source"] == "gates/gate.md"
    chain = retriever | (lambda documents: [each.id for each in documents])
    assert chain.invoke("Who built the mill?") == ["mill.md#0"]
    retriever.close()


def test_llama_index(path: Path) -> None:
    pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed")
    from wherefrom.integrations.llama_index import LlamaIndexRetriever

    retriever = LlamaIndexRetriever(path, k=1)
    (node,) = retriever.retrieve("Who built the mill?")
    assert (node.node.node_id, node.text) == ("mill.md#0", DOCUMENTS[0].text)
    assert node.score is not None
    assert node.metadata["source"] == "mill.md"
    (later,) = asyncio.run(retriever.aretrieve("Who built the gate?"))
    assert later.metadata["title"] == "The gate"
    retriever.close()


@pytest.mark.parametrize(
    ("module", "remedy"), [("langchain", "pip install langchain-core"), ("llama_index", "pip install llama-index-core")]
)
def test_a_missing_framework_is_named_with_the_remedy(
    module: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core.callbacks", None)
    monkeypatch.setitem(sys.modules, "llama_index.core.retrievers", None)
    monkeypatch.delitem(sys.modules, f"wherefrom.integrations.{module}", raising=False)
    with pytest.raises(FrameworkMissing, match=remedy):
        __import__(f"wherefrom.integrations.{module}")
