"""The wiring: which class a setting chooses for each stage, and the networks that stages share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wherefrom.config import Settings
from wherefrom.errors import LibraryMissing, SettingsError
from wherefrom.features.language import out_of_reach
from wherefrom.pipeline import Gone, Pipeline
from wherefrom.stages import Judge, Ranker, Reader, Reranker, Retriever, Sources, Summarizer, Writer
from wherefrom.types import Hit, Question

if TYPE_CHECKING:
    from wherefrom.features.matching import Matcher
    from wherefrom.features.meant import FollowUps
    from wherefrom.features.telling import Teller
    from wherefrom.retrieve.qdrant import Embedder
    from wherefrom.retrieve.retriever import Searchable
    from wherefrom.runtime.drqa import DrQASession
    from wherefrom.runtime.embedder import TextEmbedder
    from wherefrom.runtime.pairs import PairSession
    from wherefrom.runtime.qasa import QasaSession
    from wherefrom.runtime.reader import ReaderSession
    from wherefrom.runtime.weights import Weights
    from wherefrom.runtime.writer import WriterSession
    from wherefrom.store.library import LibraryFolder
    from wherefrom.write.check import SentenceCheck

_OF_WORDS = ("bm25", "qdrant")  # kinds of retrieving that find words, and know them


def build(settings: Settings, folder: LibraryFolder | None) -> Pipeline:
    """The pipeline that the settings describe, over a library; without one it answers only from given hits."""
    settings = _as_trained(settings)
    networks = _Networks(settings)
    reranker, reranker_weights = _RERANKERS[_reranker_kind(settings)](settings)
    ranker = _RANKERS[settings.rank.kind](settings, networks)
    reader = _READERS[settings.read.kind](settings, networks)
    judge = _JUDGES[settings.judge.kind](settings, networks)
    writer, yes_no_weights = _with_yes_no(_WRITERS[settings.write.kind](settings, networks), settings, networks)
    teller = _teller(settings, networks)
    stages = Pipeline(
        retriever=_RETRIEVERS[settings.retrieve.kind](settings, folder) if folder else _NoLibrary(),
        ranker=ranker,
        reader=reader,
        reranker=reranker,
        judge=judge,
        writer=_with_explaining(writer, teller),
        min_chance=settings.judge.min_chance,
        sources=_sources(settings, folder),
        gone=_gone(folder) if folder else None,
        respell=_respelling(settings, folder),
        out_of_reach=out_of_reach if settings.judge.english_only and settings.index.language == "english" else None,
        explain_judge=_explain_judge(settings, teller, judge),
        summary_retriever=_summary_retriever(settings, folder, teller) if folder else None,
        summarizer=_SUMMARIZERS[settings.summarize.kind](settings, teller),
    )
    matcher_weights = (_matcher(settings.runtime.matcher).folder,) if folder and _matches(settings) else ()
    embeds = folder is not None and settings.retrieve.kind in ("dense", "hybrid")
    embedder_weights = (text_embedder(settings).folder,) if embeds else ()
    every = networks.used + reranker_weights + yes_no_weights + matcher_weights + embedder_weights
    every += (teller.selector.folder,)
    return replace(stages, weights=every)


def _as_trained(settings: Settings) -> Settings:
    """The settings, with candidates as many and as brief as RankQA saw in training, where it is the re-ranker."""
    from wherefrom.runtime.weights import Weights

    if settings.rerank.kind != "rankqa":
        return settings
    brevity = settings.read.brevity and bool(Weights.named(settings.rerank.weights).settings.get("brevity", True))
    return replace(settings, read=replace(settings.read, candidates=settings.rerank.candidates, brevity=brevity))


def _reranker_kind(settings: Settings) -> str:
    """The re-ranker that "auto" means: votes add up probabilities, which only the span reader's scores are, and an
    order is fitted for the answers of one reader in English.
    """
    if settings.rerank.kind != "auto":
        return settings.rerank.kind
    if settings.read.kind != "span":
        return "none"
    return "merits" if settings.index.language == "english" and _has_order(settings) else "vote"


def _has_order(settings: Settings) -> bool:
    """Whether an order was fitted for the reader in use: one of one's own may have none yet."""
    from wherefrom.rerank.merits import ORDER
    from wherefrom.runtime.weights import Weights

    return (Weights.named(settings.runtime.reader).folder / ORDER).exists()


def _matches(settings: Settings) -> bool:
    """Whether passages are also chosen by meaning: "auto" leaves other readers as their sources have them."""
    wanted = settings.retrieve
    suits = settings.read.kind == "span" and settings.index.language == "english"
    return wanted.kind in (*_OF_WORDS, "hybrid") and (wanted.match == "words" or (wanted.match == "auto" and suits))


def follow_ups(settings: Settings) -> FollowUps | None:
    """What understands follow-ups; None where the settings want none, or for another language than English."""
    if not settings.conversation.follow_ups or settings.index.language != "english":
        return None
    from wherefrom.features.meant import FollowUps
    from wherefrom.features.tags import Tagger
    from wherefrom.runtime.weights import Weights

    return FollowUps(Weights.named(settings.runtime.followup), Tagger(Weights.named(settings.runtime.tagger)))


def embedder(name: str, settings: Settings) -> Embedder:
    """What makes the vectors that `retrieve.dense` names."""
    match name:
        case "matcher":
            return _matcher(settings.runtime.matcher)
        case "embedder":
            return text_embedder(settings)
    raise SettingsError(f"the index keeps vectors of {name}, which this version of wherefrom cannot make")


def text_embedder(settings: Settings) -> TextEmbedder:
    """What gives texts their vectors."""
    return _text_embedder(settings.runtime.embedder, settings.runtime.threads)


@cache
def _text_embedder(weights: str, threads: int) -> TextEmbedder:
    """One a process, shared by the index that is searched and the one that is filled."""
    from wherefrom.runtime.embedder import TextEmbedder
    from wherefrom.runtime.weights import Weights

    return TextEmbedder(Weights.named(weights), threads)


@cache
def _matcher(weights: str) -> Matcher:
    """One a process: it is asked with every number of passages."""
    from wherefrom.features.matching import Matcher
    from wherefrom.runtime.weights import Weights

    return Matcher(Weights.named(weights))


def with_passages(pipeline: Pipeline, settings: Settings, folder: LibraryFolder, k: int) -> Pipeline:
    """The same stages with k passages for a question; networks that are loaded stay loaded."""
    settings = replace(settings, retrieve=replace(settings.retrieve, k=k))
    return replace(
        pipeline,
        retriever=_RETRIEVERS[settings.retrieve.kind](settings, folder),
        summary_retriever=_summary_retriever(_summarizing(settings, k), folder, _teller(settings, _Networks(settings))),
    )


def over_library(pipeline: Pipeline, settings: Settings, folder: LibraryFolder) -> Pipeline:
    """The same stages over another library, made with settings of the same sort; its networks are not loaded again."""
    return replace(
        pipeline,
        retriever=_RETRIEVERS[settings.retrieve.kind](settings, folder),
        summary_retriever=_summary_retriever(settings, folder, _teller(settings, _Networks(settings))),
        sources=_sources(settings, folder),
        gone=_gone(folder),
    )


class _Networks:
    """The networks' sessions, each made once for all stages that use it, so that a pass is paid once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.runtime

    @cached_property
    def reader(self) -> ReaderSession:
        from wherefrom.runtime.reader import ReaderSession
        from wherefrom.runtime.weights import Weights

        return ReaderSession(Weights.named(self._settings.reader), self._settings.threads, self._settings.skim)

    @cached_property
    def drqa(self) -> DrQASession:
        from wherefrom.runtime.drqa import DrQASession
        from wherefrom.runtime.weights import Weights

        return DrQASession(Weights.named(self._settings.drqa), self._settings.threads)

    @cached_property
    def cete(self) -> PairSession:
        from wherefrom.runtime.pairs import PairSession
        from wherefrom.runtime.weights import Weights

        return PairSession(Weights.named(self._settings.cete), self._settings.threads)

    @cached_property
    def qasa(self) -> QasaSession:
        from wherefrom.runtime.qasa import QasaSession

        return QasaSession(_own_weights(self._settings.qasa))

    @cached_property
    def tagger(self) -> Weights:
        from wherefrom.runtime.weights import Weights

        return Weights.named(self._settings.tagger)

    @cached_property
    def fluency(self) -> Weights:
        from wherefrom.runtime.weights import Weights

        return Weights.named(self._settings.fluency)

    @cached_property
    def writer(self) -> WriterSession:
        from wherefrom.runtime.weights import Weights
        from wherefrom.runtime.writer import WriterSession

        return WriterSession(Weights.named(self._settings.writer), self._settings.threads)

    @property
    def opened_reader(self) -> ReaderSession | None:
        """The reader network's session, where a stage has it: its passages are read for that stage anyway."""
        session: ReaderSession | None = vars(self).get("reader")
        return session

    @property
    def used(self) -> tuple[Path, ...]:
        """The folders of the weights that stages have opened."""
        opened = vars(self)
        folders = [
            opened[name].weights.folder for name in ("reader", "drqa", "writer", "cete", "qasa") if name in opened
        ]
        return (*folders, *(opened[name].folder for name in ("tagger", "fluency") if name in opened))


def _own_weights(folder: str) -> Weights:
    """QASA's, which are not shipped."""
    from wherefrom.runtime.weights import Weights

    if not folder:
        raise SettingsError(
            "rank.kind=qasa needs weights, and none are shipped: make some with `wherefrom train qasa`, and name "
            "their folder with --set runtime.qasa=OUT/weights"
        )
    return Weights(Path(folder))


# A stage's module is imported only when the settings choose it.


def _bm25_retriever(settings: Settings, folder: LibraryFolder) -> Retriever:
    return _matching(settings, folder, lambda: folder.index("bm25"))


def _qdrant_retriever(settings: Settings, folder: LibraryFolder) -> Retriever:
    from wherefrom.retrieve.qdrant import FusedSearch, QdrantIndex

    def index() -> Searchable:
        opened = folder.index("qdrant")
        assert isinstance(opened, QdrantIndex)
        return opened if settings.retrieve.dense == "none" else FusedSearch(opened, settings.retrieve.pool)

    return _matching(settings, folder, index)


def _matching(settings: Settings, folder: LibraryFolder, index: Callable[[], Searchable]) -> Retriever:
    """What an index of words finds; of more of it the nearest in meaning, where the settings want that."""
    from wherefrom.retrieve.retriever import IndexRetriever

    wanted = settings.retrieve
    if not _matches(settings):
        return IndexRetriever("retrieve", index, folder.store, wanted.k)
    from wherefrom.retrieve.matched import MatchedRetriever

    pool = IndexRetriever("retrieve", index, folder.store, max(wanted.pool, wanted.k))
    return MatchedRetriever(pool, _matcher(settings.runtime.matcher), wanted.k, wanted.nearness)


def _dense_retriever(settings: Settings, folder: LibraryFolder) -> Retriever:
    from wherefrom.retrieve.retriever import IndexRetriever

    return IndexRetriever("dense", lambda: folder.index("dense"), folder.store, settings.retrieve.k)


def _hybrid_retriever(settings: Settings, folder: LibraryFolder) -> Retriever:
    from wherefrom.retrieve.fuse import ByRank, ByScore, FusedRetriever
    from wherefrom.retrieve.retriever import IndexRetriever

    wanted = settings.retrieve
    pool = max(wanted.pool, wanted.k)
    words = IndexRetriever("retrieve", lambda: folder.index("bm25"), folder.store, pool)
    vectors = IndexRetriever("dense", lambda: folder.index("dense"), folder.store, pool)
    matcher = _matcher(settings.runtime.matcher) if _matches(settings) else None
    fusion = ByRank() if wanted.fusion == "rank" else ByScore(matcher, wanted.hybrid_nearness, wanted.cosine, pool)
    return FusedRetriever([words, vectors], fusion, wanted.k)


def _respelling(settings: Settings, folder: LibraryFolder | None) -> Callable[[Question], Question] | None:
    """By the words of the index and the common words of English, so where passages are matched in English too."""
    if folder is None or not settings.retrieve.respell or not _matches(settings):
        return None
    from wherefrom.retrieve.respelling import KnownWords, Respelling

    def index() -> KnownWords:
        kind = settings.retrieve.kind
        opened = folder.index("bm25" if kind == "hybrid" else kind)
        assert isinstance(opened, KnownWords)
        return opened

    return Respelling(index, folder.store, _matcher(settings.runtime.matcher).is_common)


def _tfidf_retriever(settings: Settings, folder: LibraryFolder) -> Retriever:
    from wherefrom.retrieve.retriever import IndexRetriever
    from wherefrom.retrieve.tfidf import TfidfIndex, TfidfSearch

    def index() -> TfidfSearch:
        opened = folder.index("tfidf")
        assert isinstance(opened, TfidfIndex)
        return TfidfSearch(opened, settings.retrieve.similarity)

    return IndexRetriever("retrieve", index, folder.store, settings.retrieve.k)


def _no_ranker(_settings: Settings, _networks: _Networks) -> None:
    return None


def _overlap_ranker(settings: Settings, _networks: _Networks) -> Ranker:
    from wherefrom.rank.overlap import OverlapRanker

    return OverlapRanker(settings.index.language)


def _reader_ranker(settings: Settings, networks: _Networks) -> Ranker:
    from wherefrom.rank.reader import ReaderRanker

    return ReaderRanker(networks.reader, settings.rank.keep)


def _masque_ranker(settings: Settings, networks: _Networks) -> Ranker:
    from wherefrom.rank.masque import MasqueRanker

    return MasqueRanker(networks.writer, settings.rank.keep)


def _cete_ranker(settings: Settings, networks: _Networks) -> Ranker:
    from wherefrom.rank.cete import CeteRanker

    return CeteRanker(networks.cete, settings.rank.keep)


def _qasa_ranker(settings: Settings, networks: _Networks) -> Ranker:
    from wherefrom.rank.qasa import QasaRanker

    return QasaRanker(networks.qasa, settings.rank.keep)


def _sentence_reader(settings: Settings, _networks: _Networks) -> Reader:
    from wherefrom.read.sentence import SentenceReader

    return SentenceReader(settings.read.candidates, settings.index.language)


def _span_reader(settings: Settings, networks: _Networks) -> Reader:
    from wherefrom.read.span import SpanReader

    read = settings.read
    return SpanReader(networks.reader, read.candidates, read.max_tokens, read.relevance, read.brevity)


def _drqa_reader(settings: Settings, networks: _Networks) -> Reader:
    from wherefrom.features.tags import NER, POS, Tagger
    from wherefrom.read.drqa import DrQAReader

    read = settings.read
    tagger = Tagger(networks.tagger)
    return DrQAReader(networks.drqa, tagger, POS, NER, read.candidates, read.max_tokens, read.span_score, read.brevity)


_Reranking = tuple[Reranker | None, tuple[Path, ...]]  # a re-ranker and the folders of its weights


def _no_reranker(_settings: Settings) -> _Reranking:
    return None, ()


def _vote_reranker(_settings: Settings) -> _Reranking:
    from wherefrom.rerank.vote import VoteReranker

    return VoteReranker(), ()


def _merit_reranker(settings: Settings) -> _Reranking:
    from wherefrom.rerank.merits import MeritReranker
    from wherefrom.runtime.weights import Weights

    matcher = _matcher(settings.runtime.matcher) if settings.index.language == "english" else None
    weights = Weights.named(settings.runtime.reader)
    return MeritReranker(weights, settings.index.language, matcher), ()


def _rankqa_reranker(settings: Settings) -> _Reranking:
    from wherefrom.features.tags import Tagger
    from wherefrom.rerank.rankqa import RankQAReranker
    from wherefrom.runtime.weights import Weights

    weights, tagger = Weights.named(settings.rerank.weights), Weights.named(settings.runtime.tagger)
    return RankQAReranker(weights, Tagger(tagger), settings.read.kind), (weights.folder, tagger.folder)


def _sources(settings: Settings, folder: LibraryFolder | None) -> Sources | None:
    if folder is None or not settings.rerank.newest:
        return None
    from wherefrom.rerank.versions import VersionedSources

    return VersionedSources(folder.store.dates)


def _gone(folder: LibraryFolder) -> Gone:
    from wherefrom.ingest.prune import is_gone

    def gone(ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(id for id in ids if (facts := folder.store.facts(id)) is not None and is_gone(facts[0]))

    return gone


def _lexical_judge(settings: Settings, _networks: _Networks) -> Judge:
    from wherefrom.judge.lexical import LexicalJudge

    return LexicalJudge(settings.index.language)


def _calibrated_judge(settings: Settings, networks: _Networks) -> Judge:
    from wherefrom.judge.calibrated import CalibratedJudge
    from wherefrom.judge.second import SecondOpinion

    english = settings.index.language == "english"
    matcher = _matcher(settings.runtime.matcher) if english else None
    second = SecondOpinion(networks.writer, settings.write.passages) if settings.judge.second and english else None
    return CalibratedJudge(networks.reader, settings.index.language, matcher, second)


def _masque_judge(_settings: Settings, networks: _Networks) -> Judge:
    from wherefrom.judge.masque import MasqueJudge

    return MasqueJudge(networks.writer)


def _verbatim_writer(_settings: Settings, _networks: _Networks) -> Writer:
    from wherefrom.write.verbatim import VerbatimWriter

    return VerbatimWriter()


def _masque_writer(settings: Settings, networks: _Networks) -> Writer:
    from wherefrom.write.masque import MasqueWriter

    write = settings.write
    check = _sentence_check(settings, networks) if write.check else None
    return MasqueWriter(networks.writer, write.passages, write.beam, write.short, check)


def _sentence_check(settings: Settings, networks: _Networks) -> SentenceCheck:
    """The check of written sentences; it asks the reader network only where another stage does so anyway."""
    from wherefrom.features.fluency import Fluency
    from wherefrom.features.tags import Tagger
    from wherefrom.write.check import BorneOut, SentenceCheck

    reads = settings.read.kind == "span" or settings.rank.kind == "reader"
    truth = BorneOut(networks.reader) if reads else None
    fluency = Fluency(networks.fluency, Tagger(networks.tagger))
    return SentenceCheck(fluency, settings.write.fluent, truth, settings.write.borne_out)


def _with_yes_no(writer: Writer, settings: Settings, networks: _Networks) -> tuple[Writer, tuple[Path, ...]]:
    """A writer that also says Yes or No, where the settings want it, and the folder of its weights.

    It listens to the reader network where the other stages, which are made before it, use that.
    """
    if not settings.write.yes_no:
        return writer, ()
    from wherefrom.runtime.weights import Weights
    from wherefrom.write.yes_no import YesNoWriter

    weights = Weights.named(settings.runtime.yes_no)
    return YesNoWriter(writer, weights, settings.write.sure, networks.opened_reader), (weights.folder,)


def _teller(settings: Settings, networks: _Networks) -> Teller:
    """What weighs statements; it asks the reader network only where another stage does so anyway."""
    from wherefrom.features.telling import Teller
    from wherefrom.features.worth import Selector, Worth
    from wherefrom.runtime.weights import Weights

    reads = settings.read.kind == "span" or settings.rank.kind == "reader"
    matcher = _matcher(settings.runtime.matcher) if settings.index.language == "english" else None
    selector = Selector(Weights.named(settings.runtime.selector))
    session = networks.reader if reads else None
    return Teller(selector, Worth(settings.index.language, matcher), session, settings.summarize.read)


def _with_explaining(writer: Writer, teller: Teller) -> Writer:
    from wherefrom.write.explaining import ExplainingWriter

    return ExplainingWriter(writer, teller)


def _explain_judge(settings: Settings, teller: Teller, answers: Judge) -> Judge | None:
    """Beside the calibrated judge; another one judges explanations itself."""
    if settings.judge.kind != "calibrated":
        return None
    from wherefrom.judge.explaining import ExplainJudge
    from wherefrom.runtime.weights import Weights

    return ExplainJudge(teller, Weights.named(settings.runtime.selector), answers)


def _summarizing(settings: Settings, k: int) -> Settings:
    return replace(settings, summarize=replace(settings.summarize, passages=k))


def _summary_retriever(settings: Settings, folder: LibraryFolder, teller: Teller) -> Retriever:
    from wherefrom.retrieve.summary import SummaryRetriever

    k = settings.summarize.passages
    wanted = replace(settings, retrieve=replace(settings.retrieve, k=k))
    retriever = _RETRIEVERS[settings.retrieve.kind](wanted, folder)
    return SummaryRetriever(retriever, folder.store, k, teller.is_general)


def _extractive_summarizer(settings: Settings, teller: Teller) -> Summarizer:
    from wherefrom.runtime.weights import Weights
    from wherefrom.summarize.extractive import ExtractiveSummarizer

    wanted = settings.summarize
    return ExtractiveSummarizer(teller, Weights.named(settings.runtime.selector), wanted.novelty, wanted.min_chance)


_RETRIEVERS: Mapping[str, Callable[[Settings, LibraryFolder], Retriever]] = {
    "bm25": _bm25_retriever,
    "tfidf": _tfidf_retriever,
    "qdrant": _qdrant_retriever,
    "dense": _dense_retriever,
    "hybrid": _hybrid_retriever,
}
_RANKERS: Mapping[str, Callable[[Settings, _Networks], Ranker | None]] = {
    "none": _no_ranker,
    "overlap": _overlap_ranker,
    "reader": _reader_ranker,
    "masque": _masque_ranker,
    "cete": _cete_ranker,
    "qasa": _qasa_ranker,
}
_READERS: Mapping[str, Callable[[Settings, _Networks], Reader]] = {
    "sentence": _sentence_reader,
    "span": _span_reader,
    "drqa": _drqa_reader,
}
_RERANKERS: Mapping[str, Callable[[Settings], _Reranking]] = {
    "none": _no_reranker,
    "vote": _vote_reranker,
    "merits": _merit_reranker,
    "rankqa": _rankqa_reranker,
}
_JUDGES: Mapping[str, Callable[[Settings, _Networks], Judge]] = {
    "lexical": _lexical_judge,
    "calibrated": _calibrated_judge,
    "masque": _masque_judge,
}
_WRITERS: Mapping[str, Callable[[Settings, _Networks], Writer]] = {
    "verbatim": _verbatim_writer,
    "masque": _masque_writer,
}


_SUMMARIZERS: Mapping[str, Callable[[Settings, Teller], Summarizer]] = {"extractive": _extractive_summarizer}


class _NoLibrary:
    """Stands where a retriever would, in a pipeline for datasets that bring their own passages."""

    def retrieve(self, questions: Sequence[Question]) -> list[list[Hit]]:
        raise LibraryMissing(f"there is no library to find passages for {len(questions)} questions in")
