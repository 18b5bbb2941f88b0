"""The joint writer in ONNX: every shape is free, and onnxruntime says what torch says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
onnxruntime = pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")
pytest.importorskip("onnxscript", reason="torch exports through onnxscript")

import numpy  # noqa: E402
from writer_examples import JOINT, PREAST, Example, answers, examples, lively, network, reading  # noqa: E402

from wherefrom.errors import WherefromError  # noqa: E402
from wherefrom.networks.decoder import Cache  # noqa: E402
from wherefrom.networks.flat import FlatBegin, FlatEncode, FlatStep, to_onnx  # noqa: E402
from wherefrom.networks.masque import MasqueNetwork, MasqueSettings  # noqa: E402
from wherefrom.networks.writer import Memory  # noqa: E402

WITH_ANSWER = replace(JOINT, answer_source=True, ranker="given", vocabulary=10)


class Exported:
    """A network's three graphs, running in onnxruntime."""

    def __init__(self, settings: MasqueSettings) -> None:
        torch.set_num_threads(1)
        self.settings = settings
        self.network = lively(settings)
        with torch.no_grad():
            memory = self.network.encode(self.reading(examples(5), 3))
            cache = self.network.begin(memory)
            for _ in range(7):  # a length of its own
                _, cache = self.network.decode_step(memory, cache, torch.ones(5, dtype=torch.long))
        self.encode = session(FlatEncode(self.network), self.encode_inputs(self.reading(examples(5), 3)))
        self.begin = session(FlatBegin(self.network), [source.states for source in memory.sources])
        self.step = session(FlatStep(self.network), step_inputs(memory, cache, torch.ones(5, dtype=torch.long)))

    def reading(self, some: Sequence[Example], more: int = 0) -> Any:
        return reading(some, self.settings, more_places=more)

    def encode_inputs(self, batch: Any) -> list[torch.Tensor]:
        given = [] if batch.given is None else [batch.given]
        answer = [] if batch.answer is None else list(batch.answer)
        # One tensor given twice would be taken for one input.
        return [part.clone() for part in (batch.question, batch.question_mask, *batch.passages, *answer, *given)]


def session(module: Any, example: Sequence[torch.Tensor]) -> Any:
    """Runs on tensors in the module's order."""
    model = to_onnx(module, example).model_proto
    running = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def run(inputs: Sequence[torch.Tensor]) -> list[Any]:
        assert [one.name for one in running.get_inputs()] == list(module.inputs)
        assert [one.name for one in running.get_outputs()] == list(module.outputs)
        return running.run(None, {name: one.numpy() for name, one in zip(module.inputs, inputs, strict=True)})

    return run


def step_inputs(memory: Memory, cache: Cache, token: torch.Tensor) -> list[torch.Tensor]:
    parts = [part for source in memory.sources for part in (source.states, source.mask, source.weight)]
    return [token, *cache.own, *parts, *cache.given, *cache.keys]


def agree(found: Sequence[Any], expected: Sequence[torch.Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other.detach().numpy(), atol=1e-4)


@pytest.fixture(scope="module", params=[JOINT, WITH_ANSWER], ids=["joint", "with answer"])
def exported(request: pytest.FixtureRequest) -> Exported:
    return Exported(request.param)


BATCHES = {"many": slice(0, 8), "one": slice(2, 3), "one with one passage": slice(0, 1), "two": slice(3, 5)}


@pytest.mark.parametrize("some", BATCHES.values(), ids=BATCHES)
def test_onnx_reads_as_torch_does(exported: Exported, some: slice) -> None:
    batch = exported.reading(examples()[some], more=1)
    with torch.no_grad():
        memory = exported.network.encode(batch)
    expected = [memory.ranking.score, memory.ranking.log_beta, memory.answerable]
    agree(exported.encode(exported.encode_inputs(batch)), [*expected, *(source.states for source in memory.sources)])


@pytest.mark.parametrize("some", BATCHES.values(), ids=BATCHES)
def test_onnx_writes_as_torch_does(exported: Exported, some: slice) -> None:
    """From an empty cache on, with packed sources, each step on what onnxruntime itself gave before."""
    told = answers(examples()[some])
    with torch.no_grad():
        memory = exported.network.encode(exported.reading(examples()[some])).packed()
        cache = exported.network.begin(memory)
        begun = exported.begin([source.states for source in memory.sources])
        agree(begun, [*cache.given, *cache.keys])
        token, own = told.style, cache.own
        for place in range(told.target.shape[1]):
            step, cache = exported.network.decode_step(memory, cache, token)
            found = exported.step(step_inputs(memory, cache._replace(own=own), token))
            agree(found, [step.vocabulary, *step.copied, *cache.own])
            own = tuple(torch.from_numpy(part) for part in found[-2:])
            token = told.target[:, place]


def test_refuses_what_cannot_be_taken_apart() -> None:
    for settings in (PREAST, replace(JOINT, vocabulary=10, input_words=True)):
        made: MasqueNetwork = network(settings)
        with pytest.raises(WherefromError, match="only a joint network"):
            FlatEncode(made)
