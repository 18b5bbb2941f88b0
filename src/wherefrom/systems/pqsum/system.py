"""Trains PQSUM-WSL-DS on sets of documents, and says what it is worth there.

    OUT/sets.json.xz       the sets: queries, documents, references
    OUT/ranking.npz        the documents' sentences, ranked; only where weak references or summaries are made of them
    OUT/weak.json          the weak references of the documents that are learnt from
    OUT/references.json    the same after distant supervision
    OUT/tuning/            BERTSUM tuned on them
    OUT/summaries.json     what it writes of every document that is measured on
    OUT/baselines.json     ROUGE of trivial summaries of the same documents, a row a set
    OUT/scores.json        ROUGE of the final summaries, beside trivial ones

Without `wsl` nothing is learnt. For the rows of papers there are many of these, each in a folder of its own:
OUT/<settings file>-<fingerprint>/; sets, ranking and baselines are shared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from wherefrom.errors import SettingsError
from wherefrom.origin import file_hash
from wherefrom.runtime.embedder import TextEmbedder
from wherefrom.runtime.pairs import PairSession
from wherefrom.runtime.weights import PROVENANCE, Weights
from wherefrom.systems.bertsum.material import BEGIN, PADDING
from wherefrom.systems.bertsum.network import BertsumNetwork
from wherefrom.systems.bertsum.task import BertsumTask
from wherefrom.systems.contract import NotTrained, Scores, Wanted
from wherefrom.systems.pqsum.about import Inputs
from wherefrom.systems.pqsum.choosing import chosen
from wherefrom.systems.pqsum.figures import OURS, figures, trivial
from wherefrom.systems.pqsum.ranking import in_sentences, ranked, read_ranking, write_ranking
from wherefrom.systems.pqsum.sets import (
    DocumentSet,
    Place,
    everywhere,
    files_of,
    gathered,
    read_sets,
    sampled,
    write_sets,
)
from wherefrom.systems.pqsum.settings import PqsumTraining, Tested
from wherefrom.systems.pqsum.supervision import Pieces, best, supervised
from wherefrom.systems.pqsum.writing import Telling
from wherefrom.train import pretrained
from wherefrom.train.checkpoint import load_weights
from wherefrom.train.encoders import STUDENT, Encoders, Fetch
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, needed, read_json, run, training, write_json

DEFAULTS = PqsumTraining()
STAND_INS = {"DUC 2005": "qmsum", "DUC 2006": "squality", "DUC 2007": "wikipedia"}
MEAN = "DUC 2005, 2006 and 2007"


def stages(
    settings: PqsumTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """The stages that the settings ask for; `fetch` gets the encoder whose wordpieces are used."""
    return _Making(settings, inputs, out, say, fetch).stages()


def measure(
    settings: PqsumTraining, inputs: Inputs, wanted: Wanted, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> Scores:
    """ROUGE of a row: of a year of DUC where its files are there, else of the set that stands in for it."""
    years = ["DUC 2005", "DUC 2006", "DUC 2007"] if wanted.dataset == MEAN else [wanted.dataset]
    rows = [_row(settings, inputs, wanted, year, out, say, fetch) for year in years]
    metrics = {name: fmean(values[name] for values, _ in rows) for name in wanted.reported}
    files = tuple(dict.fromkeys(file for _, read in rows for file in read))
    return Scores(metrics, settings.loop.seed, files)


class _Making:
    """One training under way: a method a stage."""

    def __init__(self, settings: PqsumTraining, inputs: Inputs, out: Path, say: Say, fetch: Fetch) -> None:
        self._settings, self._inputs, self._out, self._say = settings, inputs, out, say
        self._encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)
        self._sets_file = inputs.sets or out / "sets.json.xz"
        self._ranking_file = inputs.ranking or out / "ranking.npz"
        self._baselines_file = inputs.baselines or out / "baselines.json"
        self.scores_file = out / ("scores.json" if settings.trigram_block else "scores-unblocked.json")

    def stages(self) -> list[Stage]:
        wanted = self._settings
        made = [self._gather()]
        made += [self._rank()] if wanted.weak == "cete" else []
        made += [self._weaken(), self._supervise(), self._tune()] if wanted.wsl else []
        made += [] if wanted.ranks_sources else [self._tell()]
        return [*made, self._compare(), self._measure()]

    def _gather(self) -> Stage:
        def make(path: Path) -> Facts:
            sets = gathered(self._inputs.data, self._settings.sets)
            write_sets(path, sets)
            names = sorted({(each.source, each.role) for each in sets})
            counts = {
                f"{source} {role}": sum((each.source, each.role) == (source, role) for each in sets)
                for source, role in names
            }
            self._say("sets: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
            files = files_of(self._inputs.data, self._settings.sets)
            return {**counts, "files": {f"{file.parent.name}/{file.name}": file_hash(file) for file in files}}

        return Stage("sets", self._sets_file, lambda: {"settings": asdict(self._settings.sets)}, make)

    def _rank(self) -> Stage:
        def make(path: Path) -> Facts:
            sentences = in_sentences(self._sets, [*self._learnt, *everywhere(self._sets, "test")])
            scores = ranked(self._session, self._sets, sentences, paced("ranking", self._say))
            write_ranking(path, scores)
            return {"documents": len(scores), "sentences": sum(map(len, scores.values()))}

        return Stage("ranking", self._ranking_file, lambda: {**self._of_sets(), **self._of_ranker()}, make)

    def _weaken(self) -> Stage:
        """Weak references of the documents that are learnt from or watched."""

        def made_of() -> Facts:
            wanted = self._settings
            return {**self._of_sets(), **self._of_weak(), "sentences": wanted.weak_sentences}

        def make(path: Path) -> Facts:
            return self._write(path, self._weak_summaries(self._learnt))

        return Stage("weak", self._out / "weak.json", made_of, make)

    def _supervise(self) -> Stage:
        wanted, weak = self._settings, self._out / "weak.json"

        def made_of() -> Facts:
            by = {"similarity": wanted.similarity, "embedder": wanted.embedder} if wanted.distant else {}
            return {"weak": file_hash(needed(weak, "weak")), "distant": wanted.distant, **by}

        def make(path: Path) -> Facts:
            texts = _read(weak)
            if not wanted.distant:
                return self._write(path, texts)
            threads = self._inputs.threads
            embedder = (
                TextEmbedder(Weights.named(wanted.embedder), threads) if wanted.similarity == "embedder" else None
            )
            return self._write(path, supervised(self._sets, texts, embedder))

        return Stage("references", self._out / "references.json", made_of, make)

    def _tune(self) -> Stage:
        def made_of() -> Facts:
            references = file_hash(needed(self._out / "references.json", "references"))
            wanted = self._settings
            described = {"network": asdict(wanted.network), "task": asdict(wanted.task)}
            return {"references": references, "start": self._hash(self._inputs.start, "--start"), **described}

        folder, loop = self._out / "tuning", self._settings.loop
        return training("tuning", folder, self._task, loop, made_of, self._inputs.device, self._say)

    def _tell(self) -> Stage:
        """What is written of every document that is measured on."""

        def made_of() -> Facts:
            if self._settings.wsl:
                return {**self._of_sets(), "weights": file_hash(needed(self._out / "tuning" / MODEL, "tuning"))}
            return {**self._of_sets(), **self._of_weak(), "sentences": self._settings.weak_sentences}

        def make(path: Path) -> Facts:
            places = everywhere(self._sets, "test")
            if not self._settings.wsl:
                return self._write(path, self._weak_summaries(places))
            model = trained(self._task(), self._out / "tuning", torch.device(self._inputs.device))
            return self._write(path, self._telling.write(model, self._sets, places, paced("summaries", self._say)))

        return Stage("summaries", self._out / "summaries.json", made_of, make)

    def _compare(self) -> Stage:
        """What trivial summaries of the same documents are worth."""

        def make(path: Path) -> Facts:
            sets = self._tested
            write_json(path, trivial(sets, self._budgets(sets), paced("baselines", self._say)))
            return {"sets": len(sets)}

        return Stage("baselines", self._baselines_file, lambda: {**self._of_sets(), **self._words()}, make)

    def _measure(self) -> Stage:
        wanted = self._settings
        source = self._ranking_file if wanted.ranks_sources else self._out / "summaries.json"

        def made_of() -> Facts:
            written = file_hash(needed(source, "ranking" if wanted.ranks_sources else "summaries"))
            baselines = {"baselines": file_hash(needed(self._baselines_file, "baselines"))}
            facts = {**self._of_sets(), **self._of_ranker(), **baselines, **self._words()}
            return {**facts, "written": written, "trigram_block": wanted.trigram_block}

        def make(path: Path) -> Facts:
            sets, texts = self._tested, self._final()
            by_source = figures(sets, texts, read_json(self._baselines_file))
            lines = [{"query": each.query, "written": text} for each, text in zip(sets, texts, strict=True)]
            write_json(path, {"sources": by_source, "summaries": lines})
            for name, own in by_source.items():
                line = ", ".join(f"{kind} {100 * own[OURS][f'rouge_{kind}_f']:.2f}" for kind in ("1", "2", "l", "su4"))
                self._say(f"measure: {name}: ROUGE {line}")
            return by_source

        return Stage("measure", self.scores_file, made_of, make)

    # What several stages need.

    @cached_property
    def _sets(self) -> list[DocumentSet]:
        return read_sets(needed(self._sets_file, "sets"))

    @property
    def _tested(self) -> list[DocumentSet]:
        return [each for each in self._sets if each.role == "test"]

    def _budgets(self, sets: Sequence[DocumentSet]) -> list[int]:
        return [self._settings.words_of(each.source) for each in sets]

    def _words(self) -> Facts:
        return {"words": self._settings.words, "meeting_words": self._settings.meeting_words}

    @cached_property
    def _learnt(self) -> list[Place]:
        """The documents that are learnt from, then those that are watched."""
        wanted = self._settings.sets
        train = sampled(self._sets, "train", wanted.documents, wanted.seed)
        return [*train, *sampled(self._sets, "valid", wanted.watched, wanted.seed)]

    @cached_property
    def _telling(self) -> Telling:
        positions = self._settings.network.encoder.positions
        tokenizer = self._encoders.of(STUDENT) / "tokenizer.json"
        return Telling(tokenizer, replace(self._settings.task, batch=self._settings.together), positions)

    @cached_property
    def _session(self) -> PairSession:
        return PairSession(Weights.named(self._settings.ranker), self._inputs.threads)

    def _weak_summaries(self, places: Sequence[Place]) -> Pieces:
        """What BERTSUM as it comes makes of each document, or its best sentences as they are ranked."""
        wanted, report = self._settings, paced("summaries", self._say)
        if wanted.weak == "bertsum_abs":
            writer = self._network(self._inputs.start, "--start")
            return self._telling.write(writer, self._sets, places, report)
        if wanted.weak == "bertsum_ext":
            extractor = self._network(self._inputs.extractor, "--extractor")
            return self._telling.extracted(extractor, self._sets, places, wanted.weak_sentences, report)
        scores = read_ranking(needed(self._ranking_file, "ranking"))
        sentences = in_sentences(self._sets, places)
        return {place: best(sentences[place], scores[place], wanted.weak_sentences) for place in places}

    def _final(self) -> list[str]:
        """The summaries of the sets that are measured on."""
        wanted = self._settings
        if wanted.ranks_sources:
            texts: Pieces = in_sentences(self._sets, everywhere(self._sets, "test"))
            scores = read_ranking(needed(self._ranking_file, "ranking"))
        else:
            texts = _read(self._out / "summaries.json")
            scores = ranked(self._session, self._sets, texts, paced("measure", self._say))
        summaries = []
        for at in [at for at, each in enumerate(self._sets) if each.role == "test"]:
            own = [(at, number) for number in range(len(self._sets[at].documents))]
            sentences = [text for place in own for text in texts[place]]
            logits = [logit for place in own for logit in scores[place]]
            budget = wanted.words_of(self._sets[at].source)
            summaries.append(" ".join(chosen(sentences, logits, budget, wanted.trigram_block)))
        return summaries

    def _task(self) -> BertsumTask:
        texts = _read(needed(self._out / "references.json", "references"))
        train = {place: own for place, own in texts.items() if self._sets[place[0]].role == "train"}
        valid = {place: own for place, own in texts.items() if self._sets[place[0]].role == "valid"}
        wanted, telling = self._settings, self._telling
        hashes = {"references": file_hash(self._out / "references.json")}
        start = self._start(self._inputs.start, "--start")
        examples = telling.examples(self._sets, train), telling.examples(self._sets, valid)
        return BertsumTask("write", *examples, wanted.network, wanted.task, hashes, None, start)

    def _network(self, file: Path | None, option: str) -> BertsumNetwork:
        network = BertsumNetwork(self._settings.network, BEGIN, PADDING)
        load_weights(network, self._start(file, option))
        return network.to(self._inputs.device).eval()

    def _start(self, file: Path | None, option: str) -> Path:
        if file is None or not file.exists():
            raise NotTrained(f"{option}: {file} is not there; `wherefrom train bertsum` makes it")
        return file

    def _hash(self, file: Path | None, option: str) -> str:
        return file_hash(self._start(file, option))

    def _of_sets(self) -> Facts:
        return {"sets": file_hash(needed(self._sets_file, "sets"))}

    def _of_ranker(self) -> Facts:
        folder = Weights.named(self._settings.ranker).folder
        return {
            "ranker": file_hash(next(file for file in (folder / PROVENANCE, folder / "settings.toml") if file.exists()))
        }

    def _of_weak(self) -> Facts:
        weak = self._settings.weak
        given: dict[str, Callable[[], str]] = {
            "cete": lambda: file_hash(needed(self._ranking_file, "ranking")),
            "bertsum_ext": lambda: self._hash(self._inputs.extractor, "--extractor"),
            "bertsum_abs": lambda: self._hash(self._inputs.start, "--start"),
        }
        return {"weak": weak, "made of": given[weak](), "network": asdict(self._settings.network)}

    def _write(self, path: Path, texts: Pieces) -> Facts:
        lines = [[*place, list(own)] for place, own in texts.items()]
        path.write_text(json.dumps(lines, ensure_ascii=False) + "\n", encoding="utf-8")
        return {"documents": len(lines), "sentences": sum(len(own) for own in texts.values())}


def _read(path: Path) -> dict[Place, list[str]]:
    lines = json.loads(path.read_text(encoding="utf-8"))
    return {(at, number): sentences for at, number, sentences in lines}


# Rows of papers.


def _row(
    settings: PqsumTraining, inputs: Inputs, wanted: Wanted, year: str, out: Path, say: Say, fetch: Fetch
) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """The scores of one set, and the files that they are of."""
    if year not in STAND_INS:
        raise SettingsError(f"{wanted.name}: there is no set for {wanted.dataset}, {wanted.split}")
    there = (inputs.data / "duc").is_dir()
    tested: Any = year.removeprefix("DUC ") if there else "stand-ins"
    source = f"duc-{tested}" if there else STAND_INS[year]
    settings, inputs = _of_test(settings, inputs, tested, out)
    folder = _folder(settings, wanted.name, out)
    making = _Making(settings, inputs, folder, say, fetch)
    weights = _weights(settings, inputs, folder)
    absent = weights is not None and not weights.exists()
    left_behind = absent and (folder / "summaries.json").exists()  # where it was trained: what was written is enough
    if settings.wsl and absent and not left_behind and not wanted.may_train:
        raise NotTrained(f"{folder} holds no training of these settings; --train trains it, or copy it there")
    run("pqsum", making.stages(), folder, {"baselines", "measure"} if left_behind else None, say)
    scores = read_json(making.scores_file)["sources"]
    if source not in scores:
        raise NotTrained(f"{making.scores_file} has no {source}: its sets were made without")
    files = (inputs.sets, making.scores_file)
    return scores[source][OURS], tuple(file for file in files if file is not None and file.exists())


def _of_test(settings: PqsumTraining, inputs: Inputs, tested: Tested, out: Path) -> tuple[PqsumTraining, Inputs]:
    """What the folders of the rows share lies beside them; of a year of DUC below a folder of its own."""
    settings = replace(settings, sets=replace(settings.sets, tested=tested))
    if tested != "stand-ins":
        inputs = replace(inputs, sets=None, ranking=None, baselines=None)
        out = out / tested
    return settings, replace(
        inputs,
        pretrained=inputs.pretrained or out / "pretrained",
        sets=inputs.sets or out / "sets.json.xz",
        ranking=inputs.ranking or out / "ranking.npz",
        baselines=inputs.baselines or out / "baselines.json",
    )


def _weights(settings: PqsumTraining, inputs: Inputs, folder: Path) -> Path | None:
    """Those that write the summaries; none where the documents' own sentences are ranked."""
    if settings.wsl:
        return folder / "tuning" / MODEL
    return {"cete": None, "bertsum_ext": inputs.extractor, "bertsum_abs": inputs.start}[settings.weak]


def _folder(settings: PqsumTraining, name: str, out: Path) -> Path:
    mark = settings.fingerprint()
    there = sorted(out.glob(f"*-{mark}"))
    return there[0] if there else out / f"{name}-{mark}"
