"""All datasets by name: how each is loaded, what it is, and how it is scored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from wherefrom.data import (
    cnndm,
    curatedtrec,
    debatepedia,
    drop,
    duc,
    msmarco,
    multirc,
    narrativeqa,
    nqopen,
    paraqa,
    qa2d,
    qmsum,
    quasar,
    quoref,
    ropes,
    sample,
    semeval,
    squad,
    squality,
    trecqa,
    vanilla,
    vquanda,
    wikiqa,
    xsum,
    yahoocqa,
)
from wherefrom.data.examples import Example
from wherefrom.data.faults import choice
from wherefrom.data.opening import Files

Family = Literal["span", "selection", "generation", "summary", "open"]
FAMILIES: tuple[Family, ...] = get_args(Family)
# span: the answer is a place in the passage (EM, F1). selection: the right passages come first (MAP, MRR).
# generation: the answer is written (ROUGE-L, BLEU). summary: so is the summary (ROUGE). open: the passage has to be
# found first (EM or pattern match).


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset of the catalogue."""

    name: str
    about: str  # one line
    family: Family
    folder: str  # where it lies below the folder of all datasets
    files: Files
    load: Callable[..., Iterator[Example]]  # load(path, split, **options)

    @property
    def declines(self) -> bool:
        """Whether some questions have no answer, so that declining can be right."""
        return self.name in ("squad2", "msmarco", "ten-passages", "sample")

    @property
    def quotes(self) -> bool:
        """Whether every gold answer is a quotation: there a Yes or No is wrong, however true."""
        return self.name in ("squad", "squad2", "quoref", "ten-passages")

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.files)

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the keyword arguments that `load` takes."""
        parameters = inspect.signature(self.load).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


_ALL = (
    Dataset("squad", "SQuAD 1.1: questions on Wikipedia paragraphs", "span", "squad", squad.FILES, squad.load),
    Dataset("squad2", "SQuAD 2.0: half as many again have no answer", "span", "squad2", squad.FILES_2, squad.load_2),
    Dataset("quoref", "Quoref: who is meant", "span", "more_reading", quoref.FILES, quoref.load),
    Dataset("drop", "DROP: counting and comparing", "span", "more_reading", drop.FILES, drop.load),
    Dataset("ropes", "ROPES: science used on a story", "span", "more_reading", ropes.FILES, ropes.load),
    Dataset(
        "multirc",
        "MultiRC: answers put together from sentences",
        "generation",
        "more_reading",
        multirc.FILES,
        multirc.load,
    ),
    Dataset(
        "msmarco",
        "MS MARCO: search queries with ten passages",
        "generation",
        "msmarco_sample",
        msmarco.FILES,
        msmarco.load,
    ),
    Dataset(
        "ten-passages",
        "Ten-passage set: SQuAD questions with ten passages found for them",
        "generation",
        "ten-passages",
        msmarco.TEN_PASSAGES,
        msmarco.load_ten_passages,
    ),
    Dataset(
        "narrativeqa",
        "NarrativeQA: questions on summaries of stories",
        "generation",
        "narrativeqa",
        narrativeqa.FILES,
        narrativeqa.load,
    ),
    Dataset("qa2d", "QA2D: short answers written as sentences", "generation", "qa2d", qa2d.FILES, qa2d.load),
    Dataset(
        "vanilla",
        "VANiLLa: answers from Wikidata as sentences",
        "generation",
        "full_sentence/vanilla",
        vanilla.FILES,
        vanilla.load,
    ),
    Dataset(
        "vquanda",
        "VQuAnDa: answers from DBpedia as sentences",
        "generation",
        "full_sentence/vquanda",
        vquanda.FILES,
        vquanda.load,
    ),
    Dataset(
        "paraqa",
        "ParaQA: the same answer in many sentences",
        "generation",
        "full_sentence/paraqa",
        paraqa.FILES,
        paraqa.load,
    ),
    Dataset(
        "trecqa",
        "TREC-QA: factoid questions with candidate sentences",
        "selection",
        "trecqa",
        trecqa.FILES,
        trecqa.load,
    ),
    Dataset(
        "wikiqa", "WikiQA: queries with the sentences of an article", "selection", "wikiqa", wikiqa.FILES, wikiqa.load
    ),
    Dataset(
        "yahoocqa", "YahooCQA: one right answer among five", "selection", "yahoocqa", yahoocqa.FILES, yahoocqa.load
    ),
    Dataset(
        "semeval2015",
        "SemEval 2015: forum questions and comments",
        "selection",
        "semeval",
        semeval.FILES[2015],
        semeval.load_2015,
    ),
    Dataset(
        "semeval2016",
        "SemEval 2016: forum questions and comments",
        "selection",
        "semeval",
        semeval.FILES[2016],
        semeval.load_2016,
    ),
    Dataset(
        "semeval2017",
        "SemEval 2017: forum questions and comments",
        "selection",
        "semeval",
        semeval.FILES[2017],
        semeval.load_2017,
    ),
    Dataset("quasar", "QUASAR-T: trivia with a hundred texts", "open", "quasar", quasar.FILES, quasar.load),
    Dataset(
        "nqopen", "NQ-open: search questions with the gold passage", "open", "nq_oracle", nqopen.FILES, nqopen.load
    ),
    Dataset("sample", "The sample library's own questions", "open", "sample", sample.FILES, sample.load),
    Dataset(
        "curatedtrec",
        "CuratedTREC: factoids with patterns for answers",
        "open",
        "curatedtrec",
        curatedtrec.FILES,
        curatedtrec.load,
    ),
    Dataset(
        "debatepedia",
        "Debatepedia: a debate text around a query",
        "summary",
        "debatepedia",
        debatepedia.FILES,
        debatepedia.load,
    ),
    Dataset("qmsum", "QMSum: a meeting around a query", "summary", "qmsum", qmsum.FILES, qmsum.load),
    Dataset("squality", "SQuALITY: a story around a question", "summary", "squality", squality.FILES, squality.load),
    Dataset("duc", "DUC 2005-2007: many news articles around a topic", "summary", "duc", duc.FILES, duc.load),
    Dataset("xsum", "XSum: news in one sentence", "summary", "xsum_sample", xsum.FILES, xsum.load),
    Dataset("cnndm", "CNN/DailyMail: news in highlights", "summary", "cnndm", cnndm.FILES, cnndm.load),
)

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}


def dataset(name: str) -> Dataset:
    """The dataset of that name; an unknown one is a settings error that says which was meant."""
    return DATASETS[choice("dataset", name, DATASETS)]


def load(name: str, path: Path, split: str, **options: object) -> Iterator[Example]:
    """The examples of a split, from the dataset's own folder or file."""
    chosen = dataset(name)
    for option in options:
        choice(f"{name} option", option, chosen.options)
    return chosen.load(path, split, **options)
