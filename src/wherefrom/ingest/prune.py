"""Which documents an ingest with `--prune` removes, and when it had better remove none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from wherefrom.errors import PruneRefused
from wherefrom.ingest.walk import SENT
from wherefrom.store.documents import DocumentStore
from wherefrom.store.rows import DocumentFacts

_MOST = 0.5  # of what is known of a path; a disk that is not mounted loses all, a person who tidies up rarely half


class Pruning:
    """What the library knows of the paths that are ingested, and what of it has gone."""

    def __init__(self, store: DocumentStore, paths: Sequence[Path], force: bool) -> None:
        self._force = force
        self._known = {path: _below(store, path.absolute()) for path in paths}

    def refuse_lost_files(self) -> None:
        """An error where a path is not there, or most of the files that are known of it."""
        for path, documents in self._known.items():
            sources = {document.source for document in documents}
            lost = {source for source in sources if is_gone(source)}
            if len(lost) > _MOST * len(sources):
                what = "is not there" if is_gone(str(path)) else f"has lost {len(lost):,} of {len(sources):,} files"
                self._refuse(path, what, [document for document in documents if document.source in lost], documents)

    def gone(self, no_longer: Callable[[DocumentFacts], bool]) -> list[str]:
        """The ids of documents whose file has gone, or of which `no_longer` says that their file is without them."""
        ids: dict[str, None] = {}
        for path, documents in self._known.items():
            leaving = [each for each in documents if is_gone(each.source) or no_longer(each)]
            if len(leaving) > _MOST * len(documents):
                self._refuse(path, "is without most of its documents", leaving, documents)
            ids |= dict.fromkeys(document.id for document in leaving)
        return list(ids)

    def _refuse(
        self, path: Path, what: str, leaving: Sequence[DocumentFacts], documents: Sequence[DocumentFacts]
    ) -> None:
        if not self._force:
            raise PruneRefused(
                f"{path} {what}: pruning would remove {len(leaving):,} of the {len(documents):,} documents that came "
                "from it, and has removed none. Is its disk mounted? If they are to go, add --force"
            )


def _below(store: DocumentStore, root: Path) -> list[DocumentFacts]:
    sources: dict[str, bool] = {}  # a file may hold a million documents
    documents = []
    for document in store.documents():
        if document.source not in sources:
            source = Path(document.source)
            sources[document.source] = source == root or root in source.parents
        if sources[document.source]:
            documents.append(document)
    return documents


def is_gone(source: str) -> bool:
    """Whether a document's file is there no more; what never was one, or cannot be seen, is not gone."""
    if not source or source.startswith(SENT):
        return False
    try:
        Path(source).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # a folder without permission: there may be one
        return False
    return False
