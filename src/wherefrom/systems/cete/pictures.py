"""Figures of the chapter: how near words of question and candidate are (3.2, 3.3), what the layer adds (3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from wherefrom.plots import Bar, bar_plot, heatmap, standalone
from wherefrom.systems.cete.figures import SETS
from wherefrom.systems.cete.network import FeatureNetwork
from wherefrom.systems.cete.pairs import PairMaterial
from wherefrom.systems.cete.task import FeatureTask

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MOST = 24  # tokens of a candidate that fit into a picture


def heatmaps(
    task: FeatureTask, model: FeatureNetwork, material: PairMaterial, tokenizer: Tokenizer, out: Path
) -> dict[str, int]:
    """A right and a wrong candidate of the first dev question of WikiQA that has short ones of both sorts."""
    labels, lengths = material.column("pair_label"), task.token_counts
    for question in material.questions(True, ["wikiqa"]):
        short = [pair for pair in question.pairs if lengths[int(material.column("pair_text")[pair])] <= _MOST]
        right = [pair for pair in short if labels[pair]]
        wrong = [pair for pair in short if not labels[pair]]
        if right and wrong:
            chosen = {"relevant": right[0], "irrelevant": wrong[0]}
            for name, pair in chosen.items():
                rows, columns = (
                    _spelled(task, material, tokenizer, int(material.column(each)[pair]))
                    for each in ("pair_question", "pair_text")
                )
                nearness = task.nearness_of_words(model, pair).tolist()
                drawn = heatmap(f"{name.capitalize()} candidate", rows, columns, nearness)
                (out / f"{name}.svg").write_text(standalone(drawn), encoding="utf-8")
            return chosen
    return {}


def gains(ours: Mapping[str, Any], theirs: Mapping[str, Any], names: tuple[str, str]) -> str:
    """MAP and MRR of two rankers, in the mean over all sets that both were measured on, in per cent."""
    both = [name for name in SETS.values() if name in ours["means"] and name in theirs["means"]]
    bars = [
        Bar(f"{measure.upper()}, {name}", 100 * fmean(scores["means"][each][measure] for each in both))
        for measure in ("map", "mrr")
        for name, scores in zip(names, (ours, theirs), strict=True)
    ]
    return standalone(bar_plot(f"Mean over {len(both)} sets", bars))


def _spelled(task: FeatureTask, material: PairMaterial, tokenizer: Tokenizer, text: int) -> Sequence[str]:
    """The tokens of a text, as many as it has vectors."""
    if task.network.encoder == "static":
        spellings = material.column("spellings").tobytes().decode().split("\n")
        words = [spellings[word] if word < len(spellings) else "?" for word in material.text(text, "words").tolist()]
    else:
        words = ["[CLS]", *(tokenizer.id_to_token(piece) for piece in material.text(text).tolist()), "[SEP]"]
    return words[: int(task.token_counts[text])] or ["?"]
