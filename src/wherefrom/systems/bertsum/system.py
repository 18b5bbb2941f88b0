"""Trains QR-BERTSUM-TL on one fold of Debatepedia, and says what it is worth there.

    OUT/audit.json      whether the queries matter at all
    OUT/extraction/     the encoder with its extractive head, on generic summaries; only where `extract_first`
    OUT/pretraining/    generic summaries of news; none without `transfer`
    OUT/tuning/         query-focused summaries of the fold; none without `finetune`
    OUT/scores.json     ROUGE of the fold's test part, beside the document's first sentence

Ten folds are ten OUT that differ in `--set fold=N`; `--pretrained` may be shared, and so may a pretraining that lies in
OUT already and was made of the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch

from wherefrom.errors import SettingsError
from wherefrom.origin import file_hash
from wherefrom.systems.bertsum.about import Inputs
from wherefrom.systems.bertsum.audit import Triple, query_audit
from wherefrom.systems.bertsum.material import FOLDS, Cut, Encoded, Role, debates, encoded, fold, generic
from wherefrom.systems.bertsum.network import BertsumSettings
from wherefrom.systems.bertsum.task import BertsumTask, BertsumTaskSettings, Goal, rouge_of
from wherefrom.text import sentences
from wherefrom.train import pretrained
from wherefrom.train.encoders import STUDENT, Encoders, Fetch
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.settings import LoopSettings
from wherefrom.train.stages import Facts, Say, Stage, needed, training, write_json

_HELD_OUT = 200  # generic summaries that watch a pretraining
_GENERIC = ("xsum_sample/xsum.jsonl.xz", "halueval/summarization.jsonl.xz")
_DEBATES = tuple(f"debatepedia/valid_{part}.xz" for part in ("content", "query", "summary"))


def _loop(steps: int, encoder: int, decoder: int) -> LoopSettings:
    """Two warm-ups, each with its inverse root: 0.002 for the encoder, 0.1 for the rest, as published."""
    return LoopSettings(
        seed=1,
        steps=steps,
        learning_rate=0.1,
        group_rates={"encoder.": 0.002},
        decay="inverse-root",
        group_warmups={"": decoder, "encoder.": encoder},
        weight_decay=0.0,
        beta2=0.999,
        clip=0.0,
        precision="bf16",
        metric="loss_valid",
        goal="min",
        evaluate_every=max(1, steps // 6),
        evaluate_first=False,
        report_every=100,
    )


@dataclass(frozen=True, slots=True)
class BertsumTraining:
    """One training; the names of the ablations are the source's."""

    transfer: bool = True  # pretraining on generic summaries
    finetune: bool = True  # tuning on query-focused ones
    query: bool = True  # the query stands before the document
    extract_first: bool = False  # EXT-ABS: the encoder learns to extract before it learns to write
    fold: int = 0  # of ten
    news: int = 10_000  # articles of the generic summaries, beside XSum's sample
    network: BertsumSettings = field(default_factory=BertsumSettings)
    task: BertsumTaskSettings = field(default_factory=BertsumTaskSettings)
    # The source's warm-ups and steps, a tenth of them: its data is twenty times ours.
    extraction: LoopSettings = field(default_factory=lambda: _loop(1500, 500, 500))
    pretraining: LoopSettings = field(default_factory=lambda: _loop(3000, 2000, 1000))
    tuning: LoopSettings = field(default_factory=lambda: _loop(600, 600, 200))
    generic_tokens: int = 400  # of a document in pretraining

    def __post_init__(self) -> None:
        if not 0 <= self.fold < FOLDS:
            raise SettingsError(f"fold is from 0 to {FOLDS - 1}, not {self.fold}")
        if not (self.transfer or self.finetune):
            raise SettingsError("transfer=false and finetune=false together leave nothing to train")


DEFAULTS = BertsumTraining()


def stages(
    settings: BertsumTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """The stages that the settings ask for; `fetch` gets the pretrained encoder."""
    return _Making(settings, inputs, out, say, fetch).stages()


class _Making:
    """One training under way."""

    def __init__(self, settings: BertsumTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch) -> None:
        self._settings, self._inputs, self._out, self._say = settings, inputs, out, say
        self._encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)

    def stages(self) -> list[Stage]:
        wanted = self._settings
        made = [self._audit()]
        if wanted.transfer and wanted.extract_first:
            made.append(self._generic_stage("extraction", "extract", wanted.extraction, None))
        if wanted.transfer:
            start = self._out / "extraction" / MODEL if wanted.extract_first else None
            made.append(self._generic_stage("pretraining", "write", wanted.pretraining, start))
        if wanted.finetune:
            made.append(self._tuning())
        return [*made, self._measure()]

    def _audit(self) -> Stage:
        def make(path: Path) -> Facts:
            figures = {name: round(value, 4) for name, value in query_audit(debates(self._inputs.data)).items()}
            write_json(path, figures)
            self._say("audit: " + ", ".join(f"{name} {value:g}" for name, value in figures.items()))
            return figures

        return Stage("audit", self._out / "audit.json", lambda: self._hashes(_DEBATES), make)

    def _generic_stage(self, name: str, goal: Goal, loop: LoopSettings, start: Path | None) -> Stage:
        def task() -> BertsumTask:
            triples = generic(self._inputs.data, self._settings.news)
            longer = replace(self._settings.task, document_tokens=self._settings.generic_tokens)
            examples = self._encoded(triples, longer)
            begun = None if start is None else needed(start, "extraction")
            return self._task(goal, examples[_HELD_OUT:], examples[:_HELD_OUT], longer, begun, _GENERIC)

        def made_of() -> Facts:
            return {**self._hashes(_GENERIC), **self._described(), "goal": goal, "news": self._settings.news}

        return training(name, self._out / name, task, loop, made_of, self._inputs.device, self._say)

    def _tuning(self) -> Stage:
        def task() -> BertsumTask:
            start = needed(self._out / "pretraining" / MODEL, "pretraining") if self._settings.transfer else None
            train, valid = (self._fold(role) for role in ("train", "valid"))
            return self._task("write", train, valid, self._settings.task, start, _DEBATES)

        def made_of() -> Facts:
            wanted = self._settings
            parts = {"fold": wanted.fold, "query": wanted.query, "transfer": wanted.transfer}
            return {**self._hashes(_DEBATES), **self._described(), **parts}

        folder = self._out / "tuning"
        return training("tuning", folder, task, self._settings.tuning, made_of, self._inputs.device, self._say)

    def _measure(self) -> Stage:
        last = "tuning" if self._settings.finetune else "pretraining"

        def made_of() -> Facts:
            weights = file_hash(needed(self._out / last / MODEL, last))
            return {**self._hashes(_DEBATES), "weights": weights, "fold": self._settings.fold}

        def make(path: Path) -> Facts:
            test = self._fold("test")
            task = self._task("write", test, test, self._settings.task, None, _DEBATES)
            model = trained(task, self._out / last, torch.device(self._inputs.device))
            spell = self._spell()
            texts = [spell(tokens) for tokens in task.written(model, test)]
            triples = fold(debates(self._inputs.data), self._settings.fold, "test")
            references = [each.summary for each in triples]
            first = [each.document[slice(*sentences(each.document)[0])] for each in triples]
            scores = {"ours": rouge_of(texts, references), "first sentence": rouge_of(first, references)}
            lines = [asdict(one) | {"written": text} for one, text in zip(triples, texts, strict=True)]
            write_json(path, {**scores, "examples": len(texts), "summaries": lines})
            self._say("measure: " + ", ".join(f"{name} {100 * v:.1f}" for name, v in scores["ours"].items()))
            return scores

        return Stage("measure", self._out / "scores.json", made_of, make)

    # Inside.

    def _fold(self, role: Role) -> list[Encoded]:
        return self._encoded(fold(debates(self._inputs.data), self._settings.fold, role), self._settings.task)

    def _encoded(self, triples: Sequence[Triple], task: BertsumTaskSettings) -> list[Encoded]:
        cut, query = self._cut(), self._settings.query
        made = [encoded(each, cut, task.document_tokens, task.target_tokens, query) for each in triples]
        return [each for each in made if each.sentences]

    def _task(
        self,
        goal: Goal,
        train: Sequence[Encoded],
        valid: Sequence[Encoded],
        task: BertsumTaskSettings,
        start: Path | None,
        files: Sequence[str],
    ) -> BertsumTask:
        encoder = self._encoders.of(STUDENT) / MODEL
        hashes = {name: file_hash(self._inputs.data / name) for name in files}
        return BertsumTask(goal, train, valid, self._settings.network, task, hashes, encoder, start)

    def _hashes(self, files: Sequence[str]) -> Facts:
        return {name: file_hash(self._inputs.data / name) for name in files}

    def _described(self) -> Facts:
        return {"network": asdict(self._settings.network), "task": asdict(self._settings.task)}

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
