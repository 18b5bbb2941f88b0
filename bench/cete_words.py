"""Figures 3.2 and 3.3 of CETE's chapter with the weights that ship: python -m bench.cete_words --data DATA.

How near each word of a question is to each word of a right and of a wrong candidate: cosines between the network's
states of them, a word's being the mean over its wordpieces, before the first layer and after the last one. Drawn into
docs/images for the first question of WikiQA's dev part that has short candidates of both sorts; told in the mean over
all such questions, for what one pair shows may be chance.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy
from numpy.typing import NDArray

from bench.measure import ROOT
from wherefrom.data import wikiqa
from wherefrom.data.examples import Example
from wherefrom.metrics.significance import paired_t_test
from wherefrom.plots import heatmap, standalone
from wherefrom.runtime.weights import Weights

Numbers = NDArray[Any]
IMAGES = ROOT / "docs" / "images"
LAYERS = {"before": "before the first layer", "after": "after the last layer"}
_MOST = 20  # words of a candidate that fit into a picture


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of datasets")
    parser.add_argument("--out", type=Path, default=IMAGES, help="where the pictures go [docs/images]")
    options = parser.parse_args(arguments)
    network = StatesOfWords(Weights.named("cete"))
    pairs = list(chosen(wikiqa.load(options.data / "wikiqa", "dev")))
    means: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number, (question, candidates) in enumerate(pairs):
        for name, candidate in candidates.items():
            near = network.nearness(question.split(), candidate.split())
            for layer, told in LAYERS.items():
                means[layer, name].append(float(near[layer].mean()))
                if not number:
                    drawn = heatmap(
                        f"A {name} candidate, {told}", question.split(), candidate.split(), near[layer].tolist()
                    )
                    (options.out / f"cete-{name}-{layer}.svg").write_text(standalone(drawn), encoding="utf-8")
    for layer, told in LAYERS.items():
        right, wrong = means[layer, "right"], means[layer, "wrong"]
        test = paired_t_test(right, wrong)
        print(
            f"{told}, {len(pairs)} questions: mean cosine {fmean(right):.3f} of right and {fmean(wrong):.3f} of wrong "
            f"candidates (p {test.p:.2g}); of the drawn ones {right[0]:.3f} and {wrong[0]:.3f}"
        )


def chosen(examples: Iterable[Example]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each question that has short candidates of both sorts, and the first of each."""
    for example in examples:
        pairs = list(zip(example.passages, example.relevant, strict=True))
        short = [(passage.text, right) for passage, right in pairs if len(passage.text.split()) <= _MOST]
        rights, wrongs = ([text for text, right in short if right is wanted] for wanted in (True, False))
        if rights and wrongs:
            yield example.question.text, {"right": rights[0], "wrong": wrongs[0]}


class StatesOfWords:
    """The network with two more outputs: what its first and its last normalisation give."""

    def __init__(self, weights: Weights) -> None:
        import onnx
        from onnxruntime import InferenceSession

        model = onnx.load(weights.file("model.onnx"))
        norms = [node.output[0] for node in model.graph.node if node.op_type == "LayerNormalization"]
        self._wanted = [norms[0], norms[-1]]
        model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in self._wanted)
        self._session = InferenceSession(model.SerializeToString())
        self._weights = weights

    def nearness(self, question: Sequence[str], candidate: Sequence[str]) -> dict[str, Numbers]:
        """Cosines (words of the question, words of the candidate) before the first layer and after the last one."""
        settings = self._weights.settings
        tokens, places, second = [int(settings["classify"])], [], 0
        for text in (question, candidate):
            for word in text:
                own = self._weights.tokenizer.ids(word)
                places.append(range(len(tokens), len(tokens) + len(own)))
                tokens += own
            tokens.append(int(settings["separate"]))
            second = second or len(tokens)
        types = [int(place >= second) for place in range(len(tokens))]
        mask = numpy.ones((1, len(tokens)), bool)
        given = {"tokens": numpy.array([tokens]), "mask": mask, "types": numpy.array([types])}
        by_word = [_by_word(states[0], places) for states in self._session.run(self._wanted, given)]
        cut = len(question)
        return {name: each[:cut] @ each[cut:].T for name, each in zip(LAYERS, by_word, strict=True)}


def _by_word(states: Numbers, places: Sequence[range]) -> Numbers:
    """Directions of the words' states; a word without wordpieces has none."""
    means = numpy.stack([states[list(own)].mean(axis=0) if own else numpy.zeros(states.shape[1]) for own in places])
    lengths = numpy.linalg.norm(means, axis=1, keepdims=True)
    directions: Numbers = means / numpy.maximum(lengths, 1e-12)
    return directions


if __name__ == "__main__":
    main()
