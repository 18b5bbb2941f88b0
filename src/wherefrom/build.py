"""The wiring: which class a setting chooses for each stage, and the networks that stages share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wherefrom.config import Settings
from wherefrom.errors import LibraryMissing
from wherefrom.pipeline import Pipeline
from wherefrom.stages import Judge, Ranker, Reader, Reranker, Retriever, Writer
from wherefrom.types import Hit, Question

if TYPE_CHECKING:
    from wherefrom.runtime.drqa import DrQASession
    from wherefrom.runtime.reader import ReaderSession
    from wherefrom.runtime.weights import Weights
    from wherefrom.runtime.writer import WriterSession
    from wherefrom.store.library import LibraryFolder


def build(settings: Settings, folder: LibraryFolder | None) -> Pipeline:
    """The pipeline that the settings describe, over a library; without one it answers only from given hits."""
    settings = as_learned_from(settings)
    network = _Network(settings)
    reranker, reranking = _RERANKERS[reranking_kind(settings)](settings)
    writer, deciding = _deciding(_WRITERS[settings.write.kind](settings, network), settings)
    stages = Pipeline(
        retriever=_RETRIEVERS[settings.retrieve.kind](settings, folder) if folder else _NoLibrary(),
        ranker=_RANKERS[settings.rank.kind](settings, network),
        reader=_READERS[settings.read.kind](settings, network),
        reranker=reranker,
        judge=_JUDGES[settings.judge.kind](settings, network),
        writer=writer,
        min_chance=settings.judge.min_chance,
    )
    return replace(stages, weights=network.used + reranking + deciding)


def as_learned_from(settings: Settings) -> Settings:
    """The settings with candidates read as RankQA saw them in training, where it is asked for: how many, how brief."""
    from wherefrom.runtime.weights import Weights

    if settings.rerank.kind != "rankqa":
        return settings
    brevity = settings.read.brevity and bool(Weights.named(settings.rerank.weights).settings.get("brevity", True))
    return replace(settings, read=replace(settings.read, candidates=settings.rerank.candidates, brevity=brevity))


def reranking_kind(settings: Settings) -> str:
    """Votes are sums of probabilities: without being asked for, only the reader whose scores are such has them."""
    if settings.rerank.kind != "auto":
        return settings.rerank.kind
    return "vote" if settings.read.kind == "span" else "none"


def finding(pipeline: Pipeline, settings: Settings, folder: LibraryFolder, k: int) -> Pipeline:
    """The same stages with k passages to a question; networks that are loaded stay loaded."""
    settings = replace(settings, retrieve=replace(settings.retrieve, k=k))
    return replace(pipeline, retriever=_RETRIEVERS[settings.retrieve.kind](settings, folder))


class _Network:
    """The networks' sessions, each made once for all stages that use it, so that a pass is paid once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.runtime

    @cached_property
    def session(self) -> ReaderSession:
        from wherefrom.runtime.reader import ReaderSession
        from wherefrom.runtime.weights import Weights

        return ReaderSession(Weights.named(self._settings.reader), self._settings.threads)

    @cached_property
    def drqa(self) -> DrQASession:
        from wherefrom.runtime.drqa import DrQASession
        from wherefrom.runtime.weights import Weights

        return DrQASession(Weights.named(self._settings.drqa), self._settings.threads)

    @cached_property
    def tagger(self) -> Weights:
        from wherefrom.runtime.weights import Weights

        return Weights.named(self._settings.tagger)

    @cached_property
    def writer(self) -> WriterSession:
        from wherefrom.runtime.weights import Weights
        from wherefrom.runtime.writer import WriterSession

        return WriterSession(Weights.named(self._settings.writer), self._settings.threads)

    @property
    def used(self) -> tuple[Path, ...]:
        """The folders of weights that stages have asked for."""
        made = vars(self)
        found = [made[name].weights.folder for name in ("session", "drqa", "writer") if name in made]
        return (*found, self.tagger.folder) if "tagger" in made else tuple(found)


# A stage's module is imported only when the settings choose it.


def _bm25_retriever(settings: Settings, folder: LibraryFolder) -> Retriever:
    from wherefrom.retrieve.retriever import IndexRetriever

    return IndexRetriever("retrieve", lambda: folder.index("bm25"), folder.store, settings.retrieve.k)


def _tfidf_retriever(settings: Settings, folder: LibraryFolder) -> Retriever:
    from wherefrom.retrieve.retriever import IndexRetriever
    from wherefrom.retrieve.tfidf import Measured, TfidfIndex

    def index() -> Measured:
        found = folder.index("tfidf")
        assert isinstance(found, TfidfIndex)
        return Measured(found, settings.retrieve.similarity)

    return IndexRetriever("retrieve", index, folder.store, settings.retrieve.k)


def _no_ranker(_settings: Settings, _network: _Network) -> None:
    return None


def _overlap_ranker(settings: Settings, _network: _Network) -> Ranker:
    from wherefrom.rank.overlap import OverlapRanker

    return OverlapRanker(settings.index.language)


def _reader_ranker(settings: Settings, network: _Network) -> Ranker:
    from wherefrom.rank.reader import ReaderRanker

    return ReaderRanker(network.session, settings.rank.keep)


def _masque_ranker(settings: Settings, network: _Network) -> Ranker:
    from wherefrom.rank.masque import MasqueRanker

    return MasqueRanker(network.writer, settings.rank.keep)


def _sentence_reader(settings: Settings, _network: _Network) -> Reader:
    from wherefrom.read.sentence import SentenceReader

    return SentenceReader(settings.read.candidates, settings.index.language)


def _span_reader(settings: Settings, network: _Network) -> Reader:
    from wherefrom.read.span import SpanReader

    read = settings.read
    return SpanReader(network.session, read.candidates, read.max_tokens, read.relevance, read.brevity)


def _drqa_reader(settings: Settings, network: _Network) -> Reader:
    from wherefrom.features.tags import NER, POS, Tagger
    from wherefrom.read.drqa import DrQAReader

    read = settings.read
    tagger = Tagger(network.tagger)
    return DrQAReader(network.drqa, tagger, POS, NER, read.candidates, read.max_tokens, read.span_score, read.brevity)


_Reranking = tuple[Reranker | None, tuple[Path, ...]]  # a re-ranker and the folders of its weights


def _no_reranker(_settings: Settings) -> _Reranking:
    return None, ()


def _vote_reranker(_settings: Settings) -> _Reranking:
    from wherefrom.rerank.vote import VoteReranker

    return VoteReranker(), ()


def _rankqa_reranker(settings: Settings) -> _Reranking:
    from wherefrom.features.tags import Tagger
    from wherefrom.rerank.rankqa import RankQAReranker
    from wherefrom.runtime.weights import Weights

    weights, tagger = Weights.named(settings.rerank.weights), Weights.named(settings.runtime.tagger)
    return RankQAReranker(weights, Tagger(tagger), settings.read.kind), (weights.folder, tagger.folder)


def _lexical_judge(settings: Settings, _network: _Network) -> Judge:
    from wherefrom.judge.lexical import LexicalJudge

    return LexicalJudge(settings.index.language)


def _calibrated_judge(settings: Settings, network: _Network) -> Judge:
    from wherefrom.judge.calibrated import CalibratedJudge

    return CalibratedJudge(network.session, settings.index.language)


def _masque_judge(_settings: Settings, network: _Network) -> Judge:
    from wherefrom.judge.masque import MasqueJudge

    return MasqueJudge(network.writer)


def _verbatim_writer(_settings: Settings, _network: _Network) -> Writer:
    from wherefrom.write.verbatim import VerbatimWriter

    return VerbatimWriter()


def _masque_writer(settings: Settings, network: _Network) -> Writer:
    from wherefrom.write.masque import MasqueWriter

    write = settings.write
    return MasqueWriter(network.writer, write.passages, write.beam, write.short)


def _deciding(writer: Writer, settings: Settings) -> tuple[Writer, tuple[Path, ...]]:
    """The writer that also says Yes or No, where the settings want it, and the folder of its weights."""
    if not settings.write.yes_no:
        return writer, ()
    from wherefrom.runtime.weights import Weights
    from wherefrom.write.yes_no import YesNoWriter

    weights = Weights.named(settings.runtime.yes_no)
    return YesNoWriter(writer, weights, settings.write.sure), (weights.folder,)


_RETRIEVERS: Mapping[str, Callable[[Settings, LibraryFolder], Retriever]] = {
    "bm25": _bm25_retriever,
    "tfidf": _tfidf_retriever,
}
_RANKERS: Mapping[str, Callable[[Settings, _Network], Ranker | None]] = {
    "none": _no_ranker,
    "overlap": _overlap_ranker,
    "reader": _reader_ranker,
    "masque": _masque_ranker,
}
_READERS: Mapping[str, Callable[[Settings, _Network], Reader]] = {
    "sentence": _sentence_reader,
    "span": _span_reader,
    "drqa": _drqa_reader,
}
_RERANKERS: Mapping[str, Callable[[Settings], _Reranking]] = {
    "none": _no_reranker,
    "vote": _vote_reranker,
    "rankqa": _rankqa_reranker,
}
_JUDGES: Mapping[str, Callable[[Settings, _Network], Judge]] = {
    "lexical": _lexical_judge,
    "calibrated": _calibrated_judge,
    "masque": _masque_judge,
}
_WRITERS: Mapping[str, Callable[[Settings, _Network], Writer]] = {
    "verbatim": _verbatim_writer,
    "masque": _masque_writer,
}


class _NoLibrary:
    """Stands where a retriever would, in a pipeline for datasets that bring their own passages."""

    def retrieve(self, questions: Sequence[Question]) -> list[list[Hit]]:
        raise LibraryMissing(f"there is no library to find passages for {len(questions)} questions in")
