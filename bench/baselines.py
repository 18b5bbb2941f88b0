"""What trivial systems score, so that no figure stands alone: python -m bench.baselines --ten-passages DIR.

Copying the question, the first sentence of a passage, the first name in it, passages in random order or in BM25's,
every question let through, always yes. A minute or two in all; lines go to runs/ with `baseline` set. DATA is the
folder that WHEREFROM_DATA names; DIR was made by `wherefrom data ten-passages`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import fmean

from bench.corpus import DataMissing
from bench.runs import RUNS, RunLine, record
from wherefrom import Library
from wherefrom.config import IndexSettings, resolve
from wherefrom.data import catalog, qa2d
from wherefrom.data.examples import Example, whole
from wherefrom.data.opening import byte_lines, split_file, tsv_rows
from wherefrom.evaluate.predict import facts_of_data, traced
from wherefrom.evaluate.predictions import Prediction
from wherefrom.evaluate.score import score
from wherefrom.features.overlap import Stems
from wherefrom.metrics.answers import contains_answer
from wherefrom.metrics.bleu import corpus_bleu
from wherefrom.metrics.rouge import rouge_l_marco
from wherefrom.metrics.tokens import marco_tokens
from wherefrom.origin import commit_of
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.text import sentences
from wherefrom.types import Document, Passage, Question

_SHUFFLES = 20  # random orders that are averaged
_NAME = re.compile(r"[A-Z][\w'’-]*(?: (?:of |the )?[A-Z][\w'’-]*)*")
_TEN = "ten passages"
_GIVEN = "the given sentences"
_SAMPLE = "the sample library, 60 articles"
_PUBLISHED = {  # tables of the papers' writers, and which of the trivial scores belong to each
    "PREAST-QA: changes to Masque, MiniLM tuned": ("sentence_rouge_l", "passages_map", "answerable_f1"),
    "PREAST-QA, Table A.1: learning rate and batch size": ("sentence_rouge_l", "passages_map", "answerable_f1"),
    "PREAST-QA, Table 5.7: no decoder, word vectors alone": ("passages_map", "answerable_f1"),
    "PREAST-QA's style transfer: told the short answer (short F1: the reverse)": ("sentence_rouge_l",),
    "Masque, Tables 3 and 4: MiniLM frozen": ("sentence_rouge_l", "passages_map", "answerable_f1"),
    "encoders and amounts of data, 700 steps each": ("sentence_rouge_l", "passages_map", "answerable_f1"),
}

Say = Callable[[Example], str]


class Baselines:
    """Makes the lines of every topic; loads each dataset once."""

    def __init__(self, data: Path, ten_passages: Path, overrides: Sequence[str] = ()) -> None:
        self._data, self._ten_passages, self._overrides = data, ten_passages, tuple(overrides)
        self._loaded: dict[str, list[Example]] = {}

    def short_answers(self) -> list[RunLine]:
        """A name, or a sentence, without reading."""
        lines = []
        for name, over in (("squad", "the gold paragraph"), ("ten-passages", _TEN)):
            examples = [example for example in self._examples(name) if example.answers]
            for system, say in (
                ("the first name that the question lacks", first_name),
                ("the first sentence", opening),
            ):
                lines.append(
                    self._scored("short-answers", system, name, over, examples, say, ("em", "f1", "contained"))
                )
        return lines

    def ranking(self) -> list[RunLine]:
        """Passages in random order, and in the order of BM25 over all passages of the split."""
        lines = []
        for name, split, over in (
            ("trecqa", "dev", _GIVEN),
            ("wikiqa", "dev", _GIVEN),
            ("ten-passages", "valid", _TEN),
        ):
            examples = self._examples(name, split)[:: 6 if name == "ten-passages" else 1]  # as the ranker was asked
            runs = [self._ranked(name, examples, random_order(examples, seed)) for seed in range(_SHUFFLES)]
            mean = {metric: fmean(run[metric] for run in runs) for metric in runs[0]}
            ranked = self._ranked(name, examples, bm25_order(examples))
            for system, metrics, note in (
                ("BM25", ranked, "over all passages of the split"),
                ("random order", mean, f"mean of {_SHUFFLES}"),
            ):
                lines.append(self._line("ranking", system, name, split, over, len(examples), metrics, note))
        return lines

    def judging(self) -> list[RunLine]:
        """Every question let through: a chance that is the same for all."""
        sample = list(catalog.dataset("sample").load(Path("sample/questions.jsonl"), "valid"))
        sets = (
            ("ten-passages", "valid", "ten passages with titles", self._examples("ten-passages")),
            ("ten-passages", "valid", "ten passages without titles", self._examples("ten-passages")),
            ("wikiqa", "dev", _GIVEN, self._examples("wikiqa", "dev")),
            ("sample", "", _SAMPLE, sample),
        )
        system = "every question let through"
        lines = []
        for name, split, over, examples in sets:
            share = fmean(bool(example.answerable) for example in examples)
            metrics = {"answerable_f1": 200 * share / (1 + share), "answerable_ap": 100 * share}
            metrics["brier"] = share * (1 - share)
            lines.append(self._line("judging", system, name, split, over, len(examples), metrics))
        declining = {"right": 0.0, "em": 0.0, "f1": 0.0, "declined": 100.0}
        return [*lines, self._line("library", "always declining", "sample", "", _SAMPLE, len(sample), declining)]

    def sentences(self) -> list[RunLine]:
        """Sentences without a writer, from ten passages and told the short answer."""
        kinds = ("rouge_l", "bleu_1", "bleu_4")
        examples = [example for example in self._examples("ten-passages") if example.answers and example.sentences]
        lines = [
            self._scored("sentences", system, "ten-passages", _TEN, examples, say, kinds, style="sentence")
            for system, say in (("copying the question", copied), ("the first sentence of the first passage", opening))
        ]
        rows = self._qa2d_rows()
        over = "the short answer and three passages"
        ways: dict[str, Callable[[Mapping[str, str], Example], str]] = {
            "QA2D's own rules, told the answer": lambda row, _: row["rule-based"],
            "the question and the answer": lambda row, _: f"{stated(row['question'])[:-2]} {row['answer']} .",
            "copying the question": lambda row, _: stated(row["question"]),
            "the sentence with the answer": lambda _, example: holding(example),
            "the answer alone": lambda row, _: row["answer"],
        }
        for system, say in ways.items():
            metrics = written_scores([(say(row, example), row["turker_answer"]) for row, example in rows])
            lines.append(self._line("sentences", system, "qa2d", "on squad/valid", over, len(rows), metrics))
        return lines

    def stories(self) -> list[RunLine]:
        """Stories told by the question, or by a sentence of the summary."""
        examples = self._examples("narrativeqa")
        kinds = ("rouge_l", "bleu_1", "bleu_4", "f1")
        systems = {
            "the sentence with most words of the question": nearest(),
            "copying the question": copied,
            "the first sentence": opening,
        }
        return [
            self._scored("stories", system, "narrativeqa", "passages of the summary", examples, say, kinds)
            for system, say in systems.items()
        ]

    def yes_no(self) -> list[RunLine]:
        """BoolQ: always yes, and what wherefrom says to it."""
        path = self._data / "boolq" / "valid.jsonl.xz"
        rows = [json.loads(line) for _, line in byte_lines(path)]
        share = 100 * fmean(row["label"] for row in rows)
        over = "yes/no questions and their passage"
        words = answered([(_question(row["question"]), row["passage"]) for row in rows], self._overrides)
        right = [word == row["label"] for word, row in zip(words, rows, strict=True) if word is not None]
        ours = {"accuracy": 100 * fmean(right), "answered": 100 * len(right) / len(rows)}
        also = [word if word is not None else True for word in words]
        ours["accuracy_else_yes"] = 100 * fmean(word == row["label"] for word, row in zip(also, rows, strict=True))
        note = "accuracy where it says Yes or No; then with a yes to all other questions"
        line = self._line("yes-no", "wherefrom", "boolq", "valid", over, len(rows), ours, note, baseline=False)
        always = {"accuracy": share, "answered": 100.0, "accuracy_else_yes": share}
        return [line, self._line("yes-no", "always yes", "boolq", "valid", over, len(rows), always)]

    def published(self) -> list[RunLine]:
        """The trivial row of each table of the papers' writers."""
        known = {(line.topic, line.dataset, line.system): line.metrics for line in (*self.sentences(), *self.ranking())}
        share = fmean(bool(example.answerable) for example in self._examples("ten-passages"))
        trivial = {
            "sentence_rouge_l": known["sentences", "qa2d", "copying the question"]["rouge_l"],
            "passages_map": 100 * known["ranking", "ten-passages", "random order"]["map"],
            "answerable_f1": 200 * share / (1 + share),
        }
        words = {
            "sentence_rouge_l": "the question copied",
            "passages_map": "passages in random order",
            "answerable_f1": "every question let through",
        }
        lines = []
        for over, names in _PUBLISHED.items():
            system, metrics = ", ".join(words[name] for name in names), {name: trivial[name] for name in names}
            lines.append(self._line("writers-as-published", system, "ten-passages", "valid", over, 0, metrics))
        story = {line.system: line for line in self.stories()}["copying the question"]
        metrics = {"narrative_rouge_l": story.metrics["rouge_l"]}
        over = "Masque, Table 5: stories"
        copy = self._line("writers-as-published", story.system, story.dataset, story.split, over, story.n, metrics)
        return [*lines, copy]

    def _scored(
        self,
        topic: str,
        system: str,
        dataset: str,
        over: str,
        examples: Sequence[Example],
        say: Say,
        kinds: Sequence[str],
        style: str = "short",
    ) -> RunLine:
        predictions = {
            example.question.id: Prediction(example.question.id, say(example), style=style) for example in examples
        }
        metrics = score(catalog.dataset(dataset), examples, predictions).metrics
        return self._line(topic, system, dataset, "valid", over, len(examples), {kind: metrics[kind] for kind in kinds})

    def _ranked(
        self, name: str, examples: Sequence[Example], order: Mapping[str, tuple[tuple[str, float], ...]]
    ) -> dict[str, float]:
        predictions = {id: Prediction(id, ranking=ranking) for id, ranking in order.items()}
        metrics = score(catalog.dataset(name), examples, predictions).metrics
        return {kind: metrics[kind] for kind in ("map", "mrr", "p_1")}

    def _examples(self, name: str, split: str = "valid") -> list[Example]:
        if name not in self._loaded:
            dataset = catalog.dataset(name)
            folder = self._ten_passages if name == "ten-passages" else self._data / dataset.folder
            self._loaded[name] = list(dataset.load(folder, split))
        return self._loaded[name]

    def _qa2d_rows(self) -> list[tuple[Mapping[str, str], Example]]:
        """QA2D's rows that ask what squad/valid asks, each with that example."""
        by_letters = {_letters(example.question.text): example for example in self._examples("squad")}
        return [
            (row, by_letters[_letters(row["question"])])
            for split in ("valid", "train")
            for _, row in tsv_rows(split_file(self._data / "qa2d", split, qa2d.FILES), qa2d.COLUMNS)
            if row["dataset"] == "SQuAD" and _letters(row["question"]) in by_letters
        ]

    def _line(
        self,
        topic: str,
        system: str,
        dataset: str,
        split: str,
        over: str,
        n: int,
        metrics: Mapping[str, float],
        note: str = "",
        baseline: bool = True,
    ) -> RunLine:
        folder = self._ten_passages if dataset == "ten-passages" else self._data / dataset
        return RunLine(
            topic=topic,
            system=system,
            dataset=dataset,
            split=split,
            over=over,
            n=n,
            metrics=metrics,
            baseline=baseline,
            settings={} if baseline else dict(each.split("=", 1) for each in self._overrides),
            seed=0 if "random" in system else None,
            commit=commit_of()[0],
            date=datetime.now(UTC).date().isoformat(),
            command="python -m bench.baselines --ten-passages TEN",
            note=note,
            files={dataset: facts_of_data(folder)} if dataset != "sample" else {},
        )


# What trivial systems say.


def first_name(example: Example) -> str:
    """The first capitalised words of the first passage that the question does not hold; its first word failing that."""
    passage, question = example.passages[0].text, example.question.text.casefold()
    names = (match[0] for match in _NAME.finditer(passage))
    return next((name for name in names if name.casefold() not in question), passage.split(maxsplit=1)[0])


def opening(example: Example) -> str:
    """The first sentence of the first passage."""
    text = example.passages[0].text
    start, end = sentences(text)[0]
    return text[start:end]


def copied(example: Example) -> str:
    return stated(example.question.text)


def stated(question: str) -> str:
    """The question with a full stop for its mark."""
    return question.strip().rstrip("? ") + " ."


def holding(example: Example) -> str:
    """The first sentence of the passage that holds a gold answer; its first one where none does."""
    text = example.passages[0].text
    cut = [text[start:end] for start, end in sentences(text)]
    return next((sentence for sentence in cut if contains_answer(sentence, example.answers)), cut[0])


def nearest() -> Say:
    """The sentence of the first passage that shares most stems with the question, the first of those."""
    stems = Stems("english")

    def say(example: Example) -> str:
        text, wanted = example.passages[0].text, set(stems(example.question.text))
        cut = [text[start:end] for start, end in sentences(text)]
        return max(cut, key=lambda sentence: len(wanted & set(stems(sentence))))

    return say


def random_order(examples: Sequence[Example], seed: int) -> dict[str, tuple[tuple[str, float], ...]]:
    random = Random(seed)
    return {
        example.question.id: tuple((passage.id, random.random()) for passage in example.passages)
        for example in examples
    }


def bm25_order(examples: Sequence[Example]) -> dict[str, tuple[tuple[str, float], ...]]:
    """Each question's passages by BM25, whose word counts are those of all passages; 0 where no word is shared."""
    numbers: dict[str, int] = {}
    for example in examples:
        for passage in example.passages:
            numbers.setdefault(passage.text, len(numbers))
    with tempfile.TemporaryDirectory() as folder:
        index = BM25Index(Path(folder) / "index", IndexSettings())
        index.create()
        index.put(list(numbers.values()), list(numbers))
        index.commit()
        order = {}
        for example in examples:
            scores = dict(index.search([example.question.text], len(numbers))[0])
            order[example.question.id] = tuple(
                (passage.id, scores.get(numbers[passage.text], 0.0)) for passage in example.passages
            )
        index.close()
    return order


def answered(pairs: Sequence[tuple[str, str]], overrides: Sequence[str] = ()) -> list[bool | None]:
    """What a pipeline says to questions of yes or no, each over its passage; None where it says neither."""
    examples = [
        Example(Question(str(number), question), (_passage(number, passage),))
        for number, (question, passage) in enumerate(pairs)
    ]
    words: list[bool | None] = []
    settings = resolve(overrides=overrides)
    with tempfile.TemporaryDirectory() as folder, Library(Path(folder) / "library", settings) as library:
        library.put([Document("none", "Each question brings its own passage.")])  # an empty folder is no library
        pipeline = library.pipeline()
        for begin in range(0, len(examples), 32):
            for trace in traced(examples[begin : begin + 32], pipeline, "given", "short", 0.0):
                text = (trace.answer.text or "").casefold() if trace.answer else ""
                words.append({"yes": True, "no": False}.get(text))
    return words


def written_scores(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """ROUGE-L and BLEU of sentences against one gold each, lowercased, as the writer's are scored."""
    cut = [(marco_tokens(predicted.lower()), marco_tokens(gold.lower())) for predicted, gold in pairs]
    bleu = corpus_bleu([predicted for predicted, _ in cut], [[gold] for _, gold in cut], smoothing="coco")
    return {
        "rouge_l": 100 * fmean(rouge_l_marco(predicted, [gold]).f for predicted, gold in cut),
        "bleu_1": 100 * bleu[0],
        "bleu_4": 100 * bleu[3],
    }


def _question(text: str) -> str:
    """As a person types it: BoolQ has small letters and no mark."""
    return text[:1].upper() + text[1:].rstrip("? ") + "?"


def _passage(number: int, text: str) -> Passage:
    title, dash, rest = text.partition(" -- ")
    return whole(str(number), rest, title) if dash else whole(str(number), text)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())


TOPICS: dict[str, Callable[[Baselines], list[RunLine]]] = {
    "short-answers": Baselines.short_answers,
    "ranking": Baselines.ranking,
    "judging": Baselines.judging,
    "sentences": Baselines.sentences,
    "stories": Baselines.stories,
    "yes-no": Baselines.yes_no,
    "writers-as-published": Baselines.published,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHEREFROM_DATA"), help="the datasets' folder")
    parser.add_argument("--ten-passages", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="yes-no: change a setting of the pipeline"
    )
    parser.add_argument("--only", choices=TOPICS, action="append", help="this topic [default: all]")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where lines are kept (default runs/)")
    options = parser.parse_args(arguments)
    if options.data is None:
        raise DataMissing("name the folder of the datasets with --data or WHEREFROM_DATA")
    baselines = Baselines(Path(options.data), options.ten_passages, options.set)
    for topic in options.only or TOPICS:
        lines = TOPICS[topic](baselines)
        record(lines, options.runs)
        for line in lines:
            figures = ", ".join(f"{name} {value:.4g}" for name, value in line.metrics.items())
            print(f"{line.topic}: {line.dataset}, {line.over}: {line.system}: {figures}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
