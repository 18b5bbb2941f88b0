"""Makes a reader that skims: half of its layers over all passages, the others over the most promising.

    OUT/material.npz    what the first layers see of pairs, and what all layers say of them
    OUT/weights/        the reader anew: `first.onnx` has the first layers, `model.onnx` the others

The estimate is a line over the states at the cut, fitted to the relevance that all layers give. A fifth of the
questions is held out, to count how often the passage that all layers find most relevant is among those that it keeps.
"""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
import onnx
from numpy.typing import NDArray

from wherefrom.errors import SettingsError
from wherefrom.origin import file_hash
from wherefrom.runtime.reader import FIRST, MODEL
from wherefrom.runtime.weights import PROVENANCE
from wherefrom.systems.skim.about import Inputs
from wherefrom.systems.skim.material import collect
from wherefrom.systems.skim.parts import parts
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, needed, read_json

_HELD_OUT = 5  # one question in so many is measured with
_KEPT = (1, 2, 3, 4, 5, 6, 8)  # passages read by all layers, for which figures are noted


@dataclass(frozen=True, slots=True)
class SkimSettings:
    """Where the network is cut, and how many passages go on."""

    layers: int = 6  # that skim; fewer hardly know yet what is relevant
    share: float = 0.4  # of a question's passages that all layers read
    least: int = 4  # passages that they read in any case
    questions: int = 1000  # of each source that the estimate is fitted on
    ridge: float = 300.0  # pull of the estimate's weights towards 0, after scaling
    seed: int = 7

    def __post_init__(self) -> None:
        if min(self.layers, self.least, self.questions) < 1 or not 0.0 < self.share <= 1.0 or self.ridge <= 0:
            raise SettingsError("layers, least, questions, share and ridge must be above 0, and share at most 1")


DEFAULTS = SkimSettings()


def stages(settings: SkimSettings, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    """Minutes, then seconds."""
    material = out / "material.npz"

    def made_of() -> Facts:
        chosen = {name: getattr(settings, name) for name in ("layers", "questions", "seed")}
        manuals = {} if inputs.manuals is None else {"manuals": file_hash(inputs.manuals)}
        return {**chosen, **manuals, "model": file_hash(needed(inputs.weights / MODEL, "export"))}

    def make(path: Path) -> Facts:
        with tempfile.TemporaryDirectory() as workplace:
            return collect(
                inputs.weights,
                inputs.data,
                inputs.manuals,
                settings.layers,
                settings.questions,
                settings.seed,
                Path(workplace),
                path,
                paced("material", say),
            )

    def fitted_of() -> Facts:
        return {"material": file_hash(needed(material, "material")), **asdict(settings)}

    return [
        Stage("material", material, made_of, make),
        Stage(
            "skim",
            out / "weights",
            fitted_of,
            lambda path: _skimming(inputs, material, path, settings, say),
            weights=True,
        ),
    ]


def _skimming(inputs: Inputs, material: Path, out: Path, settings: SkimSettings, say: Say) -> Facts:
    with numpy.load(material, allow_pickle=False) as arrays:
        seen, relevance, question = arrays["seen"].astype(numpy.float32), arrays["relevance"], arrays["question"]
    held = question % _HELD_OUT == 0
    weights, bias = fitted(seen[~held], relevance[~held], settings.ridge)
    figures = kept(seen[held] @ weights + bias, relevance[held], question[held])
    for passages, shares in figures.items():
        say(f"skim: the most relevant passage is among the best {passages} of {shares['of']:.1f}: {shares['kept']:.1%}")
    shutil.copytree(inputs.weights, out, ignore=shutil.ignore_patterns(MODEL, PROVENANCE))
    first, rest = parts(onnx.load(inputs.weights / MODEL), settings.layers, weights, bias)
    onnx.save(first, out / FIRST)
    onnx.save(rest, out / MODEL)
    _note_rule(out / "settings.toml", settings)
    return {"kept": {str(passages): shares["kept"] for passages, shares in figures.items()}, "reader": _history(inputs)}


def _history(inputs: Inputs) -> dict[str, Any]:
    """Where the reader that was cut comes from."""
    return read_json(inputs.weights / PROVENANCE)


def _note_rule(file: Path, settings: SkimSettings) -> None:
    import tomli_w

    values = tomllib.loads(file.read_text(encoding="utf-8"))
    values["skim"] = {"layers": settings.layers, "share": settings.share, "least": settings.least}
    file.write_text(tomli_w.dumps(values), encoding="utf-8")


def fitted(
    seen: NDArray[numpy.float32], relevance: NDArray[numpy.float32], ridge: float
) -> tuple[NDArray[numpy.float32], float]:
    """Ridge regression on scaled columns, as weights and bias for the columns as they are."""
    centre, scale = seen.mean(axis=0), seen.std(axis=0) + 1e-6
    x = ((seen - centre) / scale).astype(numpy.float64)
    y = relevance - relevance.mean()
    weights = numpy.linalg.solve(x.T @ x + ridge * numpy.eye(x.shape[1]), x.T @ y) / scale
    return weights.astype(numpy.float32), float(relevance.mean() - centre @ weights)


def kept(
    estimates: NDArray[numpy.float32], relevance: NDArray[numpy.float32], question: NDArray[numpy.int32]
) -> dict[int, dict[str, float]]:
    """How often the passage that all layers find most relevant is among the best so many by the estimate."""
    figures: dict[int, dict[str, float]] = {}
    groups = [numpy.flatnonzero(question == number) for number in numpy.unique(question)]
    for passages in _KEPT:
        wide = [group for group in groups if len(group) > passages]
        if not wide:
            continue
        best = [
            group[relevance[group].argmax()] in group[numpy.argsort(-estimates[group])[:passages]] for group in wide
        ]
        figures[passages] = {
            "kept": round(float(numpy.mean(best)), 4),
            "of": float(numpy.mean([len(group) for group in wide])),
        }
    return figures
