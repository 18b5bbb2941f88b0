"""Makes CETE.

OUT/pairs.safetensors      questions and candidates, as numbers
OUT/states/                what a frozen encoder says of them: for network.way=features alone
OUT/training/              the training
OUT/scores.json            MAP and MRR on all dev parts, with every question's
OUT/figures/               words beside words: for network.way=features, and only if it is asked for
OUT/weights/               the result of network.way=tuned: a folder for `runtime.cete`

For the rows of papers there are many of these, each in a folder of its own: OUT/<settings file>-<fingerprint>/; pairs
and states are shared.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import Encoder, load_pretrained
from wherefrom.origin import file_hash
from wherefrom.systems.cete.about import Inputs
from wherefrom.systems.cete.figures import SETS, as_json, compared, rankings
from wherefrom.systems.cete.pairs import PairMaterial
from wherefrom.systems.cete.settings import SOURCES, CeteSettings, Source
from wherefrom.systems.cete.states import EncoderStates, FrozenStates, StaticVectors, write_states
from wherefrom.systems.cete.task import FeatureTask, PairTask
from wherefrom.systems.contract import NotTrained, Say, Scores, Stage, Wanted
from wherefrom.train import pretrained
from wherefrom.train.encoders import STUDENT, Encoders, Fetch
from wherefrom.train.given import named
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, needed, plain, read_json, run, training, write_json

DEFAULTS = CeteSettings()
SCORES = "scores.json"
_GLOVE_REACH = 0.45  # root mean square of GloVe's numbers: neither kind of vector shall drown the other
_PIECES = 200  # of a word's 300 numbers
_OTHER_FORUM: tuple[Source, ...] = ("trecqa", "wikiqa")  # SemEval has no training part here


def stages(settings: CeteSettings, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch) -> list[Stage]:
    return _Making(settings, inputs, out, say, fetch).stages()


def measure(
    settings: CeteSettings, inputs: Inputs, wanted: Wanted, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> Scores:
    """MAP and MRR of a row's set, or by how much the layer improves their means over all sets (Figure 3.4)."""
    return _Rows(inputs, wanted, out, say, fetch).scores(settings)


class _Making:
    """One ranker under way: a method a stage."""

    def __init__(self, settings: CeteSettings, inputs: Inputs, out: Path, say: Say, fetch: Fetch) -> None:
        self._settings, self._inputs, self._out, self._say = settings, inputs, out, say
        self._encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)
        self._pairs = inputs.pairs or out / "pairs.safetensors"
        self._states = (inputs.states or out / "states") / states_file(settings)
        self._training = out / "training"

    def stages(self) -> list[Stage]:
        settings = self._settings
        made = [self._material()]
        made += [self._freeze()] if settings.frozen else []
        made += [self._train()] if settings.learns else []
        made += [self._score()]
        made += [self._draw()] if settings.network.way == "features" else []
        return [*made, self._export()] if settings.network.way == "tuned" else made

    def _material(self) -> Stage:
        inputs, wanted = self._inputs, self._settings.material

        def made_of() -> Facts:
            from wherefrom.systems.cete.material import data_hashes

            glove = {"glove": file_hash(named(inputs.glove, "--glove"))} if inputs.glove else {}
            return {"data": data_hashes(inputs.data), "pieces": STUDENT, **glove, "settings": asdict(wanted)}

        def make(path: Path) -> Facts:
            from tokenizers import Tokenizer

            from wherefrom.systems.cete.material import PairsBuilder, gather, word_columns, write_pairs

            encoder = self._encoders.of(STUDENT)
            builder = PairsBuilder(pretrained.unbounded(Tokenizer.from_file(str(encoder / "tokenizer.json"))))
            for source, valid, candidates in gather(inputs.data, wanted):
                builder.add(source, valid, candidates)
            more = {}
            if inputs.glove:
                from wherefrom.train.word_vectors import read_glove, read_pieces

                glove, pieces = read_glove(inputs.glove), read_pieces(encoder, _PIECES, _GLOVE_REACH)
                more = word_columns(builder.selecting(), glove, pieces, wanted.vector_words)
            counts = write_pairs(path, builder, more)
            for name, count in counts.items():
                self._say(f"material: {name}: {count}")
            return counts

        return Stage("material", self._pairs, made_of, make)

    def _freeze(self) -> Stage:
        """What the frozen encoder says of every text."""
        name, task = self._settings.network.encoder, self._settings.task

        def made_of() -> Facts:
            known = pretrained.INPUTS[name].sha256[MODEL]
            cut = {"sources": list(task.sources), "max_tokens": task.max_tokens}
            return {"pairs": file_hash(needed(self._pairs, "material")), "encoder": known, **cut}

        def make(path: Path) -> Facts:
            encoder = Encoder(self._encoders.settings(name))
            load_pretrained(encoder, self._encoders.of(name) / MODEL)
            tokens, report = self._encoders.tokens(name), paced("states", self._say)
            return write_states(path, encoder, self._material_there(), task, tokens, self._inputs.device, report)

        return Stage("states", self._states, made_of, make)

    def _train(self) -> Stage:
        def made_of() -> Facts:
            return {**self._learnt_from(), "network": asdict(self._settings.network)}

        loop, device = self._settings.loop, self._inputs.device
        return training("training", self._training, self.task, loop, made_of, device, self._say)

    def _score(self) -> Stage:
        against = self._inputs.against

        def made_of() -> Facts:
            others = {"against": file_hash(named(against / SCORES, "--against"))} if against else {}
            learnt = (
                {"training": file_hash(needed(self._training / MODEL, "training"))} if self._settings.learns else {}
            )
            return {**self._learnt_from(), "network": asdict(self._settings.network), **learnt, **others}

        def make(path: Path) -> Facts:
            result = as_json(self.rankings())
            if against:
                result["against"] = compared(result, read_json(against / SCORES))
            write_json(path, result)
            for name, values in result["means"].items():
                self._say(f"scores: {name}: " + ", ".join(f"{key} {value:.4g}" for key, value in values.items()))
            return plain(result["means"])

        return Stage("scores", self._out / SCORES, made_of, make)

    def _draw(self) -> Stage:
        """How near words are, and with --against what another ranker adds or lacks."""
        against = self._inputs.against

        def made_of() -> Facts:
            others = {"against": file_hash(named(against / SCORES, "--against"))} if against else {}
            return {"scores": file_hash(needed(self._out / SCORES, "scores")), **others}

        def make(path: Path) -> Facts:
            from tokenizers import Tokenizer

            from wherefrom.systems.cete.pictures import gains, heatmaps

            task = self.task()
            model = trained(task, self._training) if self._settings.learns else task.model().eval()
            tokenizer = Tokenizer.from_file(str(self._encoders.of(STUDENT) / "tokenizer.json"))
            path.mkdir()
            pairs = heatmaps(task, model, self._material_there(), tokenizer, path)
            if against:
                drawn = gains(
                    read_json(self._out / SCORES), read_json(against / SCORES), (self._out.name, against.name)
                )
                (path / "gains.svg").write_text(drawn, encoding="utf-8")
            return {"pairs": pairs}

        return Stage("figures", self._out / "figures", made_of, make, extra=True)

    def _export(self) -> Stage:
        settings = self._settings

        def made_of() -> Facts:
            learnt = file_hash(needed(self._training / MODEL, "training"))
            return {"training": learnt, "export": asdict(settings.export), "network": asdict(settings.network)}

        def make(path: Path) -> None:
            from wherefrom.systems.cete.export import export_cete

            task = self.task()
            assert isinstance(task, PairTask)
            network = trained(task, self._training)
            folder, tokens = self._encoders.of(STUDENT), self._encoders.tokens(settings.network.encoder)
            export_cete(network, path, folder / "tokenizer.json", settings.task, settings.export, tokens)

        return Stage("export", self._out / "weights", made_of, make, weights=True)

    # What several stages need.

    def task(self) -> Any:
        """The training's task; of the two networks the one that the settings want."""
        settings, name = self._settings, self._settings.network.encoder
        pairs = needed(self._pairs, "material")
        if settings.network.way == "features":
            return FeatureTask(pairs, self._frozen(), settings.network, settings.task)
        start = named(self._inputs.start, "--start") if self._inputs.start else None
        shape = self._encoders.settings(name)
        return PairTask(
            pairs, self._encoders.of(name) / MODEL, shape, settings.task, self._encoders.tokens(name), start
        )

    def rankings(self) -> Any:
        """Of all dev parts of the material."""
        task = self.task()
        questions = task.dev(SOURCES)
        device = torch.device(self._inputs.device)
        with torch.inference_mode():
            if not self._settings.learns:
                scores = task.scores(task.model().eval(), questions, device)
            elif isinstance(task, FeatureTask):
                scores = task.scores(trained(task, self._training, device), questions, device)
            else:
                scores = task.scores(trained(task, self._training, device), questions)
        return rankings(self._material_there(), questions, scores)

    def _frozen(self) -> FrozenStates:
        material, task = self._material_there(), self._settings.task
        if self._settings.network.encoder == "static":
            return StaticVectors(material, task)
        return EncoderStates(needed(self._states, "states"), material, task)

    def _material_there(self) -> PairMaterial:
        return PairMaterial(needed(self._pairs, "material"))

    def _learnt_from(self) -> Facts:
        settings, facts = self._settings, {"pairs": file_hash(needed(self._pairs, "material"))}
        if settings.network.encoder != "static":
            facts["encoder"] = pretrained.INPUTS[settings.network.encoder].sha256[MODEL]
        if self._inputs.start is not None:
            facts["start"] = file_hash(named(self._inputs.start, "--start"))
        return {**facts, "task": asdict(settings.task)}


class _Rows:
    """Rows of a paper: trainings are found by their settings, or made where they are not there, if that is allowed."""

    def __init__(self, inputs: Inputs, wanted: Wanted, out: Path, say: Say, fetch: Fetch) -> None:
        self._wanted, self._out, self._say, self._fetch = wanted, out, say, fetch
        self._inputs = replace(
            inputs,
            pairs=inputs.pairs or out / "pairs.safetensors",
            states=inputs.states or out / "states",
            pretrained=inputs.pretrained or out / "pretrained",
        )

    def scores(self, settings: CeteSettings) -> Scores:
        wanted = self._wanted
        if "map_gain" in wanted.reported or "mrr_gain" in wanted.reported:
            return self._gains(settings)
        name = SETS.get((wanted.dataset, wanted.split))
        if name is None:
            raise SettingsError(f"{wanted.name}: there is no set for {wanted.dataset}, {wanted.split}")
        values, files = self._means_of(settings, name)
        return Scores({each: values[each] for each in wanted.reported}, settings.loop.seed, files)

    def _gains(self, settings: CeteSettings) -> Scores:
        """By what share the layer improves the means over all sets that there are."""
        beside: CeteSettings | None = self._wanted.uses.get("encoded")
        if beside is None:
            raise SettingsError(f"{self._wanted.name}: uses.encoded is missing; it names the settings with the layer")
        totals = {"map": [0.0, 0.0], "mrr": [0.0, 0.0]}
        files: tuple[Path, ...] = ()
        for name in self._sets():
            for place, each in enumerate((settings, beside)):
                own, read = self._means_of(each, name)
                files += read
                for measure, values in totals.items():
                    values[place] += own[measure]
        gains = {f"{measure}_gain": encoded / alone - 1 for measure, (alone, encoded) in totals.items()}
        return Scores(
            {each: gains[each] for each in self._wanted.reported}, settings.loop.seed, tuple(dict.fromkeys(files))
        )

    def _sets(self) -> list[str]:
        """Those that the material holds."""
        material = PairMaterial(self._there())
        sources = {question.source for question in material.questions(True)}
        return [name for name in SETS.values() if name.partition("-")[0] in sources]

    def _means_of(self, settings: CeteSettings, name: str) -> tuple[dict[str, float], tuple[Path, ...]]:
        """The means of one set, by the training that is meant for it."""
        if name not in self._sets():
            raise NotTrained(
                f"{self._there()} has no {name}: put its files into the folder of datasets, and make it again"
            )
        settings = settings.of(*learnt_for(name))
        folder = self._folder(settings)
        if not (folder / SCORES).exists() and self._lacks(settings, folder):
            if not self._wanted.may_train:
                raise NotTrained(f"{folder} holds no training of these settings; --train trains it, or copy it there")
            self._say(f"{folder.name}: making it on {self._inputs.device}")
        chosen = {stage.name for stage in self._stages(settings)} - {"material", "export"}
        if (folder / SCORES).exists():
            chosen = set()  # the weights may have been left behind where they were trained
        run("cete", self._stages(settings), folder, chosen, self._say)
        return read_json(folder / SCORES)["means"][name], (self._there(), folder / SCORES)

    def _lacks(self, settings: CeteSettings, folder: Path) -> bool:
        """Whether a network is to be trained, or an encoder to be asked about all texts."""
        if settings.learns and not (folder / "training" / MODEL).exists():
            return True
        assert self._inputs.states is not None
        return settings.frozen is not None and not (self._inputs.states / states_file(settings)).exists()

    def _folder(self, settings: CeteSettings) -> Path:
        mark = settings.fingerprint(pairs=file_hash(self._there()))
        there = sorted(self._out.glob(f"*-{mark}"))
        name = f"{self._wanted.name}-{'-'.join(settings.task.sources)}" if settings.learns else self._wanted.name
        return there[0] if there else self._out / f"{name}-{mark}"

    def _stages(self, settings: CeteSettings) -> list[Stage]:
        return stages(settings, self._inputs, self._folder(settings), self._say, self._fetch)

    def _there(self) -> Path:
        """The material; made where it is not there, if that is allowed."""
        pairs = self._inputs.pairs
        assert pairs is not None
        if not pairs.exists():
            if not self._wanted.may_train:
                raise NotTrained(
                    f"{pairs} is not there; `wherefrom train cete --until material --out {self._out}` makes it"
                )
            run(
                "cete",
                stages(DEFAULTS, self._inputs, self._out, self._say, self._fetch),
                self._out,
                {"material"},
                self._say,
            )
        return pairs


def states_file(settings: CeteSettings) -> str:
    """By encoder and by what is learnt from: the texts of nothing else are worked out."""
    return f"{settings.network.encoder}-{'-'.join(settings.task.sources)}.npy"


def learnt_for(name: str) -> tuple[Source, ...]:
    """The sources whose training part is learnt from for a set: its own, or for SemEval those of another domain."""
    source = name.partition("-")[0]
    own = next((each for each in SOURCES if each == source), None)
    return _OTHER_FORUM if own is None or own.startswith("semeval") else (own,)
