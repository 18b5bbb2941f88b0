"""Trains QR-BERTSUM-TL on QA2D or one fold of Debatepedia, and says what it is worth there.

    OUT/audit.json      whether the queries matter at all
    OUT/generic.safetensors   generic summaries in wordpieces
    OUT/extraction/     the encoder with its extractive head, on generic summaries; only where `extract_first`
    OUT/pretraining/    generic summaries; none without `transfer`, or with --start
    OUT/tuning/         query-focused summaries; none without `finetune`
    OUT/scores.json     ROUGE of the test part, beside the document's first sentence and the query itself

Ten folds are ten OUT that differ in `--set fold=N` and share `--start`. For the rows of papers all of them lie in one
folder: OUT/pretraining-<fingerprint>/, OUT/<settings file>-<data>-<fold>-<fingerprint>/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from wherefrom.metrics.generation import marco
from wherefrom.origin import file_hash
from wherefrom.systems.bertsum.about import Inputs
from wherefrom.systems.bertsum.audit import QueryTriple, query_audit
from wherefrom.systems.bertsum.encoded import read_examples, write_examples
from wherefrom.systems.bertsum.material import (
    Cut,
    EncodedTriple,
    Role,
    answers,
    debates,
    encoded,
    encyclopedia,
    fold,
    news,
)
from wherefrom.systems.bertsum.settings import BertsumTraining
from wherefrom.systems.bertsum.task import BertsumTask, BertsumTaskSettings, Goal, rouge_of
from wherefrom.systems.contract import Scores, Wanted
from wherefrom.text import sentences
from wherefrom.train import pretrained
from wherefrom.train.encoders import STUDENT, Encoders, Fetch
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.settings import LoopSettings
from wherefrom.train.stages import Facts, Say, Stage, needed, training, write_json

DEFAULTS = BertsumTraining()
SCORES = "scores.json"
_HELD_OUT = 200  # generic summaries that watch a pretraining
_NEWS = ("xsum_sample/xsum.jsonl*", "halueval/summarization.jsonl*")
_ENCYCLOPEDIA = ("wikipedia/*.txt*",)
_FOCUSED = {
    "debatepedia": tuple(f"debatepedia/valid_{part}*" for part in ("content", "query", "summary")),
    "qa2d": ("qa2d/*.tsv*", "squad/*.json*"),
}


def stages(
    settings: BertsumTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """The stages that the settings ask for; `fetch` gets the pretrained encoder."""
    return _Making(settings, inputs, out, say, fetch).stages()


def measure(
    settings: BertsumTraining, inputs: Inputs, wanted: Wanted, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> Scores:
    """What a row of a paper reports, of trainings that are found below `out` or, if that is allowed, made there."""
    from wherefrom.systems.bertsum.rows import scores

    return scores(settings, inputs, wanted, out, say, fetch)


class _Making:
    """One training under way."""

    def __init__(self, settings: BertsumTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch) -> None:
        self._settings, self._inputs, self._out, self._say = settings, inputs, out, say
        self._encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)
        self._pretraining = inputs.start or out / "pretraining" / MODEL
        self._generic = inputs.generic or out / "generic.safetensors"

    def stages(self) -> list[Stage]:
        wanted = self._settings
        made = [self._audit()]
        if wanted.transfer and self._inputs.start is None:
            made.append(self._encode())
            if wanted.extract_first:
                made.append(self._generic_stage("extraction", "extract", wanted.extraction, None))
            start = self._out / "extraction" / MODEL if wanted.extract_first else None
            made.append(self._generic_stage("pretraining", "write", wanted.pretraining, start))
        if wanted.finetune:
            made.append(self._tuning())
        return [*made, self._measure()]

    def _audit(self) -> Stage:
        def make(path: Path) -> Facts:
            figures = {name: round(value, 4) for name, value in query_audit(self._triples("test", whole=True)).items()}
            write_json(path, figures)
            self._say("audit: " + ", ".join(f"{name} {value:g}" for name, value in figures.items()))
            return figures

        return Stage("audit", self._out / "audit.json", self._focused_hashes, make)

    def _encode(self) -> Stage:
        """An encyclopedia's stretches are not learnt to be extracted: their sentence is no longer among them."""
        given, wanted = self._settings.generic, self._settings.task
        files = (*_NEWS, *(_ENCYCLOPEDIA if given.wikipedia else ()))

        def made_of() -> Facts:
            tokens = {"tokens": given.tokens, "target_tokens": wanted.target_tokens}
            return {**self._hashes(files), **tokens, "news": given.news, "wikipedia": given.wikipedia}

        def make(path: Path) -> Facts:
            longer = replace(wanted, document_tokens=given.tokens)
            articles = self._encoded(news(self._inputs.data, given.news), longer, labelled=True)
            stretches = self._encoded(encyclopedia(self._inputs.data, given.wikipedia), longer)
            write_examples(path, {"news": articles, "encyclopedia": stretches})
            return {"news": len(articles), "encyclopedia": len(stretches)}

        return Stage("generic", self._generic, made_of, make)

    def _generic_stage(self, name: str, goal: Goal, loop: LoopSettings, start: Path | None) -> Stage:
        given = self._settings.generic

        def task() -> BertsumTask:
            file = needed(self._generic, "generic")
            articles = read_examples(file, "news")
            stretches = read_examples(file, "encyclopedia") if goal == "write" and given.wikipedia else []
            every = max(2, len(articles) // _HELD_OUT)
            learnt = [one for at, one in enumerate(articles) if at % every] * given.news_times
            longer = replace(self._settings.task, document_tokens=given.tokens, batch=given.batch)
            begun = None if start is None else needed(start, "extraction")
            return self._task(
                goal, [*learnt, *stretches], articles[::every], longer, begun, {"generic": file_hash(self._generic)}
            )

        def made_of() -> Facts:
            examples = file_hash(needed(self._generic, "generic"))
            return {"generic": examples, **self._settings.before_tuning(), "goal": goal}

        return training(name, self._out / name, task, loop, made_of, self._inputs.device, self._say)

    def _tuning(self) -> Stage:
        def task() -> BertsumTask:
            start = needed(self._pretraining, "pretraining") if self._settings.transfer else None
            train, valid = (self._focused(role) for role in ("train", "valid"))
            return self._task("write", train, valid, self._settings.focused, start, self._focused_hashes())

        def made_of() -> Facts:
            start = {"start": file_hash(self._pretraining)} if self._inputs.start else {}
            return {**self._focused_hashes(), **self._settings.described(), **start}

        loop, folder = self._settings.tuned_by, self._out / "tuning"
        return training("tuning", folder, task, loop, made_of, self._inputs.device, self._say)

    def _measure(self) -> Stage:
        tuned = self._settings.finetune
        weights = self._out / "tuning" / MODEL if tuned else self._pretraining

        def made_of() -> Facts:
            there = file_hash(needed(weights, "tuning" if tuned else "pretraining"))
            return {**self._focused_hashes(), "weights": there, "fold": self._settings.fold}

        def make(path: Path) -> Facts:
            triples, test = self._triples("test"), self._focused("test")
            task = self._task("write", test, test, self._settings.focused, None, {})
            model = trained(task, weights.parent, torch.device(self._inputs.device))
            spell = self._spell()
            texts = [spell(tokens) for tokens in task.written(model, test)]
            figures = {name: scored(written, triples) for name, written in {"ours": texts, **beside(triples)}.items()}
            lines = [asdict(one) | {"written": text} for one, text in zip(triples, texts, strict=True)]
            write_json(path, {**figures, "examples": len(texts), "summaries": lines})
            self._say("measure: " + ", ".join(f"{name} {100 * v:.1f}" for name, v in figures["ours"].items()))
            return figures

        return Stage("measure", self._out / SCORES, made_of, make)

    # Inside.

    def _triples(self, role: Role, whole: bool = False) -> list[QueryTriple]:
        if self._settings.data == "qa2d":
            return answers(self._inputs.data, role)
        triples = debates(self._inputs.data)
        return triples if whole else fold(triples, self._settings.fold, role)

    def _focused(self, role: Role) -> list[EncodedTriple]:
        return self._encoded(self._triples(role), self._settings.focused)

    def _encoded(
        self, triples: Sequence[QueryTriple], task: BertsumTaskSettings, labelled: bool = False
    ) -> list[EncodedTriple]:
        cut, query = self._cut(), self._settings.query
        made = [encoded(each, cut, task.document_tokens, task.target_tokens, query, labelled) for each in triples]
        return [each for each in made if each.sentences]

    def _task(
        self,
        goal: Goal,
        train: Sequence[EncodedTriple],
        valid: Sequence[EncodedTriple],
        task: BertsumTaskSettings,
        start: Path | None,
        hashes: Mapping[str, str],
    ) -> BertsumTask:
        encoder = self._encoders.of(STUDENT) / MODEL
        return BertsumTask(goal, train, valid, self._settings.network, task, hashes, encoder, start)

    def _focused_hashes(self) -> dict[str, str]:
        return self._hashes(_FOCUSED[self._settings.data])

    def _hashes(self, patterns: Sequence[str]) -> dict[str, str]:
        data = self._inputs.data
        files = sorted(file for pattern in patterns for file in data.glob(pattern))
        return {file.relative_to(data).as_posix(): file_hash(file) for file in files}

    def _cut(self) -> Cut:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._encoders.of(STUDENT) / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)

    def _spell(self) -> Callable[[Sequence[int]], str]:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._encoders.of(STUDENT) / "tokenizer.json"))
        return lambda tokens: str(tokenizer.decode(list(tokens), skip_special_tokens=True))


def beside(triples: Sequence[QueryTriple]) -> dict[str, list[str]]:
    """What costs nothing: the document's first sentence, and the query as it is."""
    first = [each.document[slice(*sentences(each.document)[0])] for each in triples]
    return {"first sentence": first, "query": [each.query for each in triples]}


def scored(texts: Sequence[str], triples: Sequence[QueryTriple]) -> Mapping[str, Any]:
    """ROUGE-1, -2 and -L, and MS MARCO's ROUGE-L and BLEU-1, which the source counts without brevity penalty."""
    references = [each.summary for each in triples]
    scores = marco(texts, [[each] for each in references], brevity=False)
    return {**rouge_of(texts, references), "rouge_l": scores.rouge_l, "bleu_1": scores.bleu[0]}
