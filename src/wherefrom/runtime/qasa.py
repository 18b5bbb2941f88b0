"""QASA's network with numpy: how well a passage goes with a question (Nguyen 2019, section 3.1).

A yardstick beside the networks that ship. Passages are read one by one, so that a passage's score never depends on
what is read beside it; what a word comes to is remembered.
"""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wherefrom.runtime.plain_words import LETTERS, plain_words
from wherefrom.runtime.weights import Weights, WeightsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[Any]

MODEL, WORDS = "model.npz", "words.txt"
MOST_LETTERS = 16  # of a word; longer ones are rare, and known by these
_REMEMBERED = 50_000  # words


class QasaSession:
    """Scores passages for questions."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._embedded: dict[str, Numbers] = {}
        self._lock = threading.Lock()

    def score(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[float]]:
        """For every question the scores of its texts, higher for those that answer; logits of nothing in particular."""
        scores = []
        for question, own in zip(questions, texts, strict=True):
            encoded = self._encoded(question) if own else None
            scores.append([self._score(encoded, self._passage(text, encoded)) for text in own])
        return scores

    # The network.

    def _encoded(self, text: str) -> Numbers:
        """q of a question."""
        _, last = self._context(text)
        return self._linear("question", _relu(self._linear("condense", last)))

    def _passage(self, text: str, question: Numbers | None) -> Numbers:
        import numpy

        states, last = self._context(text)  # (words, 2 z), (2 z,)
        if not self.weights.settings["attentive"]:
            return self._linear("passage", _relu(self._linear("shorten", last)))
        aware = numpy.concatenate([states, numpy.broadcast_to(question, (len(states), len(question)))], axis=1)  # type: ignore[arg-type]
        logits = self._linear("weigh", _relu(self._linear("attend", aware)))[:, 0]
        shares = numpy.exp(logits - logits.max())
        summed: Numbers = (shares / shares.sum()) @ states
        return self._linear("passage", summed)

    def _score(self, question: Numbers | None, passage: Numbers) -> float:
        import numpy

        assert question is not None
        both = numpy.concatenate([question, passage, question * passage, numpy.abs(question - passage)])
        return float(self._linear("judge", _relu(self._linear("compare", both)))[0])

    def _context(self, text: str) -> tuple[Numbers, Numbers]:
        """The states of every word, and the last of both directions; a text without words is one that nobody knows."""
        import numpy

        words = plain_words(text)[: int(self.weights.settings["longest"])] or [""]
        return self._both_ways("context", numpy.stack([self._word(word) for word in words]))

    def _word(self, word: str) -> Numbers:
        """Its vector beside the last states of its letters."""
        import numpy

        with self._lock:
            if word in self._embedded:
                return self._embedded[word]
        arrays, width = self._arrays, 2 * int(self.weights.settings["character_hidden"])
        number = self._numbers.get(word, len(arrays["vectors"]) - 1)
        vector = arrays["vectors"][number].astype(numpy.float32) * arrays["vectors_scale"][number]
        spelt = numpy.zeros(width, numpy.float32)
        # A word that training did not know has no letters either: it was one for all such words.
        letters = [LETTERS.index(letter) + 1 for letter in word[:MOST_LETTERS]] if word in self._numbers else []
        if letters:
            _, spelt = self._both_ways("spelling", arrays["character.weight"][letters])
        embedded = numpy.concatenate([vector, spelt])
        with self._lock:
            if len(self._embedded) >= _REMEMBERED:
                self._embedded = {}
            self._embedded[word] = embedded
        return embedded

    def _both_ways(self, name: str, given: Numbers) -> tuple[Numbers, Numbers]:
        """A BiLSTM: (steps, width) to its states (steps, 2 units), and the last of both directions (2 units,)."""
        import numpy

        forward = self._one_way(name, "", given)
        backward = self._one_way(name, "_reverse", given[::-1])[::-1]
        return numpy.concatenate([forward, backward], axis=1), numpy.concatenate([forward[-1], backward[0]])

    def _one_way(self, name: str, way: str, given: Numbers) -> Numbers:
        """h = o tanh(c), c = f c + i g; the gates are input, forget, cell, output."""
        import numpy

        arrays = self._arrays
        bias = arrays[f"{name}.bias_ih_l0{way}"] + arrays[f"{name}.bias_hh_l0{way}"]
        incoming = given @ arrays[f"{name}.weight_ih_l0{way}"].T + bias  # (steps, 4 units)
        recurrent = arrays[f"{name}.weight_hh_l0{way}"].T
        units = len(recurrent)
        hidden, cell = numpy.zeros(units, numpy.float32), numpy.zeros(units, numpy.float32)
        states = numpy.empty((len(given), units), numpy.float32)
        for step, own in enumerate(incoming):
            gates = own + hidden @ recurrent
            entering, forgetting, leaving = (_sigmoid(gates[units * gate : units * (gate + 1)]) for gate in (0, 1, 3))
            cell = forgetting * cell + entering * numpy.tanh(gates[2 * units : 3 * units])
            hidden = leaving * numpy.tanh(cell)
            states[step] = hidden
        return states

    def _linear(self, name: str, given: Numbers) -> Numbers:
        mapped: Numbers = given @ self._arrays[f"{name}.weight"].T + self._arrays[f"{name}.bias"]
        return mapped

    # What it is read from.

    @cached_property
    def _numbers(self) -> dict[str, int]:
        lines = self.weights.file(WORDS).read_text(encoding="utf-8").split("\n")
        return {word: number for number, word in enumerate(lines)}

    @cached_property
    def _arrays(self) -> dict[str, Numbers]:
        file = self.weights.file(MODEL)
        import numpy

        try:
            with numpy.load(file, allow_pickle=False) as arrays:
                kept = dict(arrays)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise WeightsError(
                f"{file} cannot be read ({error}); train it again with `wherefrom train qasa`"
            ) from error
        return {name: kept[name] if name == "vectors" else kept[name].astype(numpy.float32) for name in kept}


def _relu(values: Numbers) -> Numbers:
    import numpy

    positive: Numbers = numpy.maximum(values, 0)
    return positive


def _sigmoid(values: Numbers) -> Numbers:
    import numpy

    share: Numbers = 0.5 * (1 + numpy.tanh(0.5 * values))
    return share
