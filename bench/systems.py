"""The systems that are measured, each used the way its own documentation shows.

Nothing is imported before `load`: the time of a first search must not include another system's modules.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import corpus

if TYPE_CHECKING:
    from wherefrom.stages import Index

_WORD = re.compile(r"\w+")


class System(ABC):
    """One search system over the passages in a work folder; a passage is found as its key, or its id."""

    name: str
    index_folder: str  # below the system's own folder; "." where all of it is the index

    def __init__(self, work: Path, k: int) -> None:
        self.work = work
        self.folder = work / self.name
        self.k = k

    @abstractmethod
    def load(self) -> None:
        """Import what is needed."""

    @abstractmethod
    def build(self) -> int:
        """Take in all passages and save them; how many they were."""

    @abstractmethod
    def open(self) -> None:
        """Make ready to search what was built."""

    @abstractmethod
    def search(self, question: str) -> list[int | str]:
        """The best k passages, best first."""


class Wherefrom(System):
    """Library.ingest over files; a search gives hits with their passages' texts, through the pipeline."""

    name = "wherefrom"
    index_folder = "index"

    def load(self) -> None:
        from wherefrom import Library  # noqa: F401

    def build(self) -> int:
        from wherefrom import Library

        files = json.loads((self.work / corpus.FILES).read_text(encoding="utf-8"))
        with Library(self.folder) as library:
            report = library.ingest(files)
        if report.failures:
            first = report.failures[0]
            raise RuntimeError(f"{len(report.failures)} records were not ingested; {first.name}: {first.reason}")
        return report.passages

    def open(self) -> None:
        from wherefrom import Library

        self._pipeline = Library(self.folder).pipeline(self.k)

    def search(self, question: str) -> list[int | str]:
        from wherefrom.types import Question

        (trace,) = self._pipeline.search_many([Question("", question)])
        return [hit.passage.id for hit in trace.hits]


class WherefromIndex(System):
    """The index inside the ingested library, alone: keys and scores, no texts. The keys are the library's own."""

    name = Wherefrom.name  # the same folder
    index_folder = Wherefrom.index_folder

    def load(self) -> None:
        from wherefrom.retrieve.bm25 import BM25Index  # noqa: F401

    def build(self) -> int:
        raise NotImplementedError("the index is built by the library's ingest")

    def open(self) -> None:
        from wherefrom.config import IndexSettings
        from wherefrom.retrieve.bm25 import BM25Index

        self._index = BM25Index(self.folder / "index" / "bm25", IndexSettings())

    def search(self, question: str) -> list[int | str]:
        (hits,) = self._index.search([question], self.k)
        return [key for key, _ in hits]


class Tantivy(System):
    """tantivy called directly: its English tokenizer, its query parser, the key read from the stored document."""

    name = "tantivy"
    index_folder = "."

    def load(self) -> None:
        import tantivy  # noqa: F401

    def build(self) -> int:
        import tantivy

        self.folder.mkdir()
        schema = (
            tantivy.SchemaBuilder()
            .add_unsigned_field("key", stored=True, fast=True)
            .add_text_field("text", tokenizer_name="en_stem")
            .build()
        )
        writer = tantivy.Index(schema, str(self.folder)).writer()
        count = 0
        for key, text in enumerate(corpus.texts(self.work)):
            document = tantivy.Document()
            document.add_unsigned("key", key)
            document.add_text("text", text)
            writer.add_document(document)
            count += 1
        writer.commit()
        writer.wait_merging_threads()
        return count

    def open(self) -> None:
        import tantivy

        self._index = tantivy.Index.open(str(self.folder))
        self._searcher = self._index.searcher()

    def search(self, question: str) -> list[int | str]:
        # Lower case, as the tokenizer makes it anyway: to the query parser AND, OR, NOT and IN are operators.
        query = self._index.parse_query(re.sub(r"\W+", " ", question).lower(), ["text"])
        hits = self._searcher.search(query, self.k).hits
        return [int(self._searcher.doc(address)["key"][0]) for _, address in hits]


class TantivySameWords(Tantivy):
    """The same index asked without function words, as wherefrom asks: what is left is the same BM25."""

    def build(self) -> int:
        raise NotImplementedError("the index is raw tantivy's own")

    def search(self, question: str) -> list[int | str]:
        from wherefrom.text import FUNCTION_WORDS

        words = re.sub(r"\W+", " ", question).lower().split()
        return super().search(" ".join(word for word in words if word not in FUNCTION_WORDS) or question)


class Bm25s(System):
    """bm25s by its README: English stop words, PyStemmer, saved to disk and mapped into memory; one thread."""

    name = "bm25s"
    index_folder = "."

    def load(self) -> None:
        import bm25s  # noqa: F401
        import Stemmer  # noqa: F401

    def build(self) -> int:
        import bm25s

        passages = list(corpus.texts(self.work))
        retriever = bm25s.BM25()
        retriever.index(self._tokens(passages), show_progress=False)
        retriever.save(str(self.folder), show_progress=False)
        return len(passages)

    def open(self) -> None:
        import bm25s

        self._retriever = bm25s.BM25.load(str(self.folder), mmap=True, show_progress=False)

    def search(self, question: str) -> list[int | str]:
        keys, _ = self._retriever.retrieve(self._tokens([question]), k=self.k, n_threads=0, show_progress=False)
        return [int(key) for key in keys[0]]

    def _tokens(self, passages: list[str]) -> Any:
        import bm25s
        import Stemmer

        return bm25s.tokenize(passages, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)


class Fts5(System):
    """SQLite FTS5: porter stems over unicode61, a contentless table, the words of the question joined by OR."""

    name = "fts5"
    index_folder = "."

    def load(self) -> None:
        import sqlite3  # noqa: F401

    def build(self) -> int:
        import sqlite3

        self.folder.mkdir()
        connection = sqlite3.connect(self.folder / "passages.sqlite")
        connection.execute("CREATE VIRTUAL TABLE passage USING fts5(text, content='', tokenize='porter unicode61')")
        with connection:
            connection.executemany("INSERT INTO passage(rowid, text) VALUES (?, ?)", enumerate(corpus.texts(self.work)))
        with connection:  # one segment is searched fastest
            connection.execute("INSERT INTO passage(passage) VALUES ('optimize')")
        (count,) = connection.execute("SELECT count(*) FROM passage").fetchone()
        connection.close()
        return int(count)

    def open(self) -> None:
        import sqlite3

        self._connection = sqlite3.connect(self.folder / "passages.sqlite")

    def search(self, question: str) -> list[int | str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        rows = self._connection.execute(
            "SELECT rowid FROM passage WHERE passage MATCH ? ORDER BY bm25(passage) LIMIT ?", (words, self.k)
        )
        return [key for (key,) in rows]


class WherefromTfidf(System):
    """wherefrom's TF-IDF index alone, built in processes, with its default settings."""

    name = "wherefrom-tfidf"
    index_folder = "."

    def load(self) -> None:
        from wherefrom.retrieve.tfidf import TfidfIndex  # noqa: F401

    def build(self) -> int:
        index = self._new_index()
        index.create()
        return _filled(index, self.work)

    def open(self) -> None:
        self._index = self._new_index()

    def search(self, question: str) -> list[int | str]:
        (hits,) = self._index.search([question], self.k)
        return [key for key, _ in hits]

    def _new_index(self) -> Index:
        from wherefrom.config import IndexSettings
        from wherefrom.retrieve.tfidf import TfidfIndex

        return TfidfIndex(self.folder, IndexSettings())


class WherefromBm25(WherefromTfidf):
    """wherefrom's BM25 index alone, over the same texts."""

    name = "wherefrom-bm25"

    def load(self) -> None:
        from wherefrom.retrieve.bm25 import BM25Index  # noqa: F401

    def _new_index(self) -> Index:
        from wherefrom.config import IndexSettings
        from wherefrom.retrieve.bm25 import BM25Index

        return BM25Index(self.folder, IndexSettings())


class ScikitLearn(System):
    """scikit-learn as its guide says for large texts: HashingVectorizer, then TfidfTransformer; of the same size.

    The matrix is kept with a row an n-gram, as DrQA keeps it: a question then reads only the rows it needs.
    """

    name = "sklearn"
    index_folder = "."

    def load(self) -> None:
        import sklearn.feature_extraction.text  # noqa: F401

    def build(self) -> int:
        import numpy
        import scipy.sparse

        counts = self._vectorizer().transform(corpus.texts(self.work))
        transformer = self._transformer()
        weighed = transformer.fit_transform(counts)
        self.folder.mkdir()
        scipy.sparse.save_npz(self.folder / "terms.npz", weighed.T.tocsr(), compressed=False)
        numpy.save(self.folder / "idf.npy", transformer.idf_)
        return int(weighed.shape[0])

    def open(self) -> None:
        import numpy
        import scipy.sparse

        self._terms = scipy.sparse.load_npz(self.folder / "terms.npz")
        self._idf = numpy.load(self.folder / "idf.npy")
        self._questions = self._vectorizer()

    def search(self, question: str) -> list[int | str]:
        import numpy

        vector = self._questions.transform([question]).tocsr()
        vector.data = numpy.log(vector.data) + 1
        vector.data *= self._idf[vector.indices]
        scores = (vector @ self._terms).tocoo()
        best = numpy.argsort(-scores.data, kind="stable")[: self.k]
        return [int(key) for key in scores.col[best]]

    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(
            ngram_range=(1, 2), n_features=1 << 24, stop_words="english", alternate_sign=False, norm=None
        )

    def _transformer(self) -> Any:
        from sklearn.feature_extraction.text import TfidfTransformer

        return TfidfTransformer(sublinear_tf=True)


def _filled(index: Index, work: Path) -> int:
    """Put all passages into an index, a batch of a library's ingest at a time, and commit once."""
    count = 0
    for batch in _batches(corpus.texts(work), 20_000):
        index.put(range(count, count + len(batch)), batch)
        count += len(batch)
    index.commit()
    index.close()
    return count


def _batches(texts: Iterator[str], size: int) -> Iterator[list[str]]:
    while batch := list(islice(texts, size)):
        yield batch


PEERS: tuple[type[System], ...] = (Tantivy, Bm25s, Fts5)
BESIDE_TFIDF: tuple[type[System], ...] = (WherefromTfidf, WherefromBm25, ScikitLearn)
SYSTEMS: dict[str, type[System]] = {
    "wherefrom": Wherefrom,
    "wherefrom-index": WherefromIndex,
    "tantivy-same-words": TantivySameWords,
    **{peer.name: peer for peer in (*PEERS, *BESIDE_TFIDF)},
}
