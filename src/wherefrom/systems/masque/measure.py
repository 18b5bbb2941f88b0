"""What Masque and its kin are worth, for the rows of papers: trainings are found or made, their answers scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from wherefrom.errors import SettingsError, WherefromError
from wherefrom.evaluate.ensemble import voted
from wherefrom.evaluate.texts import (
    NARRATIVE,
    References,
    ReferenceTexts,
    Spell,
    all_scores,
    between_styles,
    by_request,
    groups_of,
    passage_scores,
    questions,
    text_differences,
    text_metrics,
    texts_beside,
    validation_texts,
    written_texts,
)
from wherefrom.evaluate.validation_answers import ValidationAnswer, read_answers
from wherefrom.systems.contract import NotTrained, Scores, Wanted
from wherefrom.systems.masque.about import Inputs
from wherefrom.systems.masque.settings import MasqueTraining
from wherefrom.systems.masque.system import ANSWERS, Given, stages
from wherefrom.train.encoders import Fetch
from wherefrom.train.loop import MODEL, PROVENANCE
from wherefrom.train.stages import Say, note_of, plain, run
from wherefrom.train.writing.material import load, with_synthetic

STYLES = ("sentence", "short", *NARRATIVE)  # that a row may score
_WRITTEN = ("rouge_l", "bleu_1", "bleu_4", "meteor", "exact")
_SHORT = {"qa_rouge_l": "rouge_l", "qa_bleu_1": "bleu_1"}  # of short answers, where one row has both styles
_PASSAGES = {"map": 1.0, "mrr": 1.0, "answerable_f1": 100.0, "flipped": 100.0}  # and what 1 is in `passage_scores`


@dataclass(frozen=True)
class TrainingAnswers:
    """A training's answers."""

    folder: Path
    texts: Mapping[int, ReferenceTexts]
    spell: Spell

    @property
    def file(self) -> Path:
        return self.folder / ANSWERS

    @cached_property
    def groups(self) -> Mapping[str, Sequence[ValidationAnswer]]:
        answers = read_answers(self.file)
        if unknown := [answer.example for answer in answers if answer.example not in self.texts]:
            raise WherefromError(f"{self.file} answers example {unknown[0]}, which the material's texts do not have")
        return by_request(answers)

    def group(self, request: str) -> Sequence[ValidationAnswer]:
        if request not in self.groups:
            raise WherefromError(f"{self.file} has nothing that was asked for as {request!r}; remove it, and --train")
        return self.groups[request]

    def written(self, request: str) -> dict[int, str]:
        return written_texts(self.group(request), self.spell)


class Measurement:
    """One row under way."""

    def __init__(
        self, settings: MasqueTraining, inputs: Inputs, wanted: Wanted, out: Path, say: Say, fetch: Fetch
    ) -> None:
        self._settings, self._inputs, self._wanted, self._out = settings, inputs, wanted, out
        self._say, self._fetch = say, fetch
        self._given = Given(inputs, out, fetch)

    def scores(self) -> Scores:
        wanted, given = self._wanted, self._given
        if wanted.measure and wanted.measure not in STYLES:
            raise SettingsError(f"{wanted.name}: measure is one of {', '.join(STYLES)}, not {wanted.measure!r}")
        for file in (given.material, given.common):
            self._there(file)
        files = [given.material, texts_beside(given.material)]
        if "group_share" in wanted.reported:  # of what style transfer wrote, whatever it writes in validation
            files.append(self._there(given.synthetic))
            return Scores({"group_share": self._share_of_synthetic()}, self._settings.loop.seed, tuple(files))
        if self._settings.synthetic != "none":
            files.append(self._there(given.synthetic))
        seeds = self._settings.seeds or (self._settings.loop.seed,)
        trainings = [self._answered(self._settings.with_seed(seed)) for seed in seeds]
        metrics = {name: self._metric(name, trainings) for name in wanted.reported}
        for each in trainings:
            files += [each.folder / "training" / PROVENANCE, each.file]
        return Scores(metrics, seeds[0], tuple(files))

    # Trainings.

    def _answered(self, settings: MasqueTraining, name: str = "") -> TrainingAnswers:
        """The training of these settings, found by them; made where it is not there, if that is allowed."""
        start: MasqueTraining | None = self._wanted.uses.get("start") if settings.network == "transfer" else None
        fingerprint = settings.fingerprint(start)
        folders = sorted(self._out.glob(f"*-{fingerprint}"))
        folder = folders[0] if folders else self._out / f"{name or self._wanted.name}-{fingerprint}"
        made = {stage.name: stage for stage in stages(settings, self._inputs, folder, self._say, self._fetch)}
        if note_of(folder, "answers").get("made_of") != plain(made["answers"].made_of()):
            self._train(settings, start, folder)
        return TrainingAnswers(folder, _texts(texts_beside(self._given.material)), _speller(self._given.encoder))

    def _train(self, settings: MasqueTraining, start: MasqueTraining | None, folder: Path) -> None:
        if not self._wanted.may_train:
            raise NotTrained(
                f"{folder} holds no answers of these settings and this material; --train trains it, for "
                f"{settings.loop.steps:,} steps, or copy a finished training there"
            )
        inputs = self._inputs
        if start is not None:
            weights = self._answered(start, "start").folder / "training" / MODEL
            if not weights.exists():
                raise NotTrained(f"{weights} is not there; style transfer starts from it")
            inputs = replace(inputs, start=weights)
        self._say(f"{folder.name}: training on {inputs.device}")
        made = stages(settings, inputs, folder, self._say, self._fetch)
        run("masque", made, folder, ("training", "answers"), self._say)

    def _there(self, file: Path) -> Path:
        if not file.exists():
            raise NotTrained(
                f"{file} is not there; `wherefrom train writer --until augment --out {self._given.folder}` makes "
                "material, vocabulary and synthetic sentences, or name another folder with --writer-material"
            )
        return file

    # Measures, each a share from 0 to 1.

    def _metric(self, name: str, trainings: Sequence[TrainingAnswers]) -> float:
        first = trainings[0]
        if name in _WRITTEN:
            return self._written_metrics(trainings)[name] / 100
        if name == "rouge_l_change":
            return self._rouge_l(first) - self._rouge_l(self._answered(self._against(), "against"))
        if name in _SHORT and not self._wanted.group:
            return text_metrics("short", first.written("short"), first.texts)[_SHORT[name]] / 100
        if name == "zero_overlap" and not self._wanted.group:
            return between_styles(first.written("sentence"), first.written("short of sentence"))[name] / 100
        if name in (*_PASSAGES, "threshold") and not self._wanted.group:
            metrics = passage_scores(first.group("short"), first.texts, first.groups.get("shuffled", ())).metrics
            ours = "answerable_threshold" if name == "threshold" else name
            if ours in metrics:
                return metrics[ours] / _PASSAGES.get(name, 1.0)
        raise WherefromError(f"{name} cannot be measured of {first.file}")

    def _written_metrics(self, trainings: Sequence[TrainingAnswers]) -> Mapping[str, float]:
        """Scores of the answers that the row is about."""
        request, against = self._request()
        texts = trainings[0].texts
        each = [training.written(request) for training in trainings]
        written: Mapping[int, str] = each[0]
        if len(each) > 1:
            written = voted(each, [text_metrics(request, answers, texts)["rouge_l"] for answers in each])
        if group := self._wanted.group:
            total = len(written)
            written = {number: text for number, text in written.items() if group in groups_of(texts[number].question)}
            if not written:
                raise WherefromError(f"none of the {total:,} questions that were asked is of the group {group!r}")
        return text_metrics(request, written, texts, against)

    def _request(self) -> tuple[str, References]:
        """Which answers are scored, by how they were asked for, and against what.

        Masque answers either task of MS MARCO in either style: then on the questions that have both references.
        """
        if self._settings.network == "transfer":
            return "given", "sentences"
        style = self._wanted.measure or "sentence"
        if style in NARRATIVE or self._wanted.split.startswith("Q&A"):
            return style, "answers"
        return ("short of sentence" if style == "short" else "sentence"), "sentences"

    def _rouge_l(self, training: TrainingAnswers) -> float:
        return text_metrics("given", training.written("given"), training.texts)["rouge_l"] / 100

    def _against(self) -> MasqueTraining:
        if "against" not in self._wanted.uses:
            raise SettingsError(f"{self._wanted.name}: uses.against is missing; it names what a change is against")
        other: MasqueTraining = self._wanted.uses["against"]
        return other

    def _share_of_synthetic(self) -> float:
        """The share of a group among the questions that have a synthetic sentence."""
        material = with_synthetic(load(self._given.material), self._given.synthetic, descriptive=True)
        texts = questions(texts_beside(self._given.material))
        groups = [groups_of(texts[int(example)]) for example in (material["synthetic"] >= 0).nonzero()[0]]
        if not groups:
            raise WherefromError(f"{self._given.synthetic} has no sentence for a question without a gold one")
        return sum(self._wanted.group in each for each in groups) / len(groups)


def report(file: Path, against: Path | None, given: Given, say: Say) -> dict[str, Any]:
    """All scores of a training's answers and, with another's, by how much these are better."""
    texts, spell = _texts(texts_beside(given.material)), _speller(given.encoder)
    answers = read_answers(file)
    scores = {request: each.flat() for request, each in all_scores(answers, texts, spell).items()}
    for request, each in scores.items():
        numbers = {name: value for name, value in each.items() if isinstance(value, float)}
        say(f"measure: {request}: " + ", ".join(f"{name} {value:.4g}" for name, value in numbers.items()))
    groups = by_request(answers)
    if {"sentence", "short of sentence"} <= groups.keys():
        styles = (written_texts(groups[style], spell) for style in ("sentence", "short of sentence"))
        scores["styles"] = between_styles(*styles)
    if against is None:
        return scores
    others = by_request(read_answers(against))
    differences: dict[str, Any] = {}
    for request in [request for request in groups if request in others and request != "shuffled"]:
        one, other = written_texts(groups[request], spell), written_texts(others[request], spell)
        compared = text_differences(request, one, other, texts)
        differences[request] = {name: asdict(difference) for name, difference in compared.items()}
    return {**scores, "against": differences}


@lru_cache(maxsize=2)
def _texts(path: Path) -> dict[int, ReferenceTexts]:
    return validation_texts(path)


def _speller(encoder: Path) -> Spell:
    """Wordpieces as lowercased text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    return lambda tokens: str(tokenizer.decode(list(tokens), skip_special_tokens=True))
