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
from wherefrom.networks.masque import MasqueNetwork, MasqueSettings, Sequences  # noqa: E402

from networks.writer_examples import JOINT, PREAST, Example, answers, examples, lively, network, reading  # noqa: E402
from wherefrom.errors import WherefromError  # noqa: E402
from wherefrom.networks.decoder import Cache  # noqa: E402
from wherefrom.networks.writer import Memory  # noqa: E402
from wherefrom.systems.writer.export import graphs  # noqa: E402
from wherefrom.systems.writer.flat import FlatJudge, FlatRead, FlatStep, to_onnx  # noqa: E402

WITH_ANSWER = replace(JOINT, answer_source=True, vocabulary=10)
PAIRS = replace(JOINT, ranker="pair", classifier="linear")
KINDS = {"joint": JOINT, "with answer": WITH_ANSWER, "pair ranker": PAIRS}


class Exported:
    """A network's four graphs, running in onnxruntime."""

    def __init__(self, settings: MasqueSettings) -> None:
        torch.set_num_threads(1)
        self.settings = settings
        self.network = lively(settings)
        self.run = {name: session(module, example) for name, module, example in graphs(self.network)}

    def reading(self, some: Sequence[Example], more: int = 0) -> Any:
        return reading(some, self.settings, more_places=more)

    def states(self, sequences: Sequences) -> Any:
        words = self.network.table().detach()[sequences.tokens]
        return self.run["encode"]([words, sequences.mask, sequences.types])[0]


def session(module: Any, example: Sequence[torch.Tensor]) -> Any:
    """Runs on tensors in the module's order."""
    model = to_onnx(module, example).model_proto
    running = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def run(inputs: Sequence[torch.Tensor]) -> list[Any]:
        assert [one.name for one in running.get_inputs()] == list(module.inputs)
        assert [one.name for one in running.get_outputs()] == list(module.outputs)
        return running.run(None, {name: one.numpy() for name, one in zip(module.inputs, inputs, strict=True)})

    return run


def agree(found: Sequence[Any], expected: Sequence[torch.Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other.detach().numpy(), atol=1e-4)


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def exported(request: pytest.FixtureRequest) -> Exported:
    return Exported(request.param)


BATCHES = {"many": slice(0, 8), "one": slice(2, 3), "one with one passage": slice(0, 1), "two": slice(3, 5)}


@pytest.mark.parametrize("some", BATCHES.values(), ids=BATCHES)
def test_onnx_reads_and_judges_as_torch_does(exported: Exported, some: slice) -> None:
    batch = exported.reading(examples()[some], more=1)
    with torch.no_grad():
        memory = exported.network.encode(batch)
    questions, count, length = batch.passages.tokens.shape
    real = batch.passages.mask.any(dim=-1)
    found = exported.states(batch.passages.flat()).reshape(questions, count, length, -1)
    expected = memory.sources[-1].states.reshape(found.shape)
    agree([found[real.numpy()]], [expected[real]])
    if batch.answer is not None:
        agree([exported.states(batch.answer)], [memory.sources[1].states])
    judged = exported.run["judge"]([torch.from_numpy(found[:, :, 0].copy()), real])
    agree(judged, [memory.ranking.score, memory.ranking.log_beta, memory.answerable])


@pytest.mark.parametrize("some", BATCHES.values(), ids=BATCHES)
def test_onnx_writes_as_torch_does(exported: Exported, some: slice) -> None:
    """From an empty cache on, with packed sources, each step on what onnxruntime itself gave before."""
    told = answers(examples()[some])
    with torch.no_grad():
        memory = exported.network.encode(exported.reading(examples()[some])).packed()
        cache = exported.network.begin(memory)
        begun = exported.run["begin"]([source.states for source in memory.sources])
        agree(begun, [*cache.given, *cache.keys])
        token, own = told.style, cache.own
        listed = exported.network.pointer.support.listed
        for place in range(told.target.shape[1]):
            step, cache = exported.network.decode_step(memory, cache, token)
            word = exported.network.table()[token][:, None]
            found = exported.run["step"](step_inputs(memory, cache._replace(own=own), word))
            agree(found, [step.vocabulary[:, listed], *step.copied, *cache.own])
            own = tuple(torch.from_numpy(part) for part in found[-2:])
            token = told.target[:, place]


def step_inputs(memory: Memory, cache: Cache, word: torch.Tensor) -> list[torch.Tensor]:
    parts = [part for source in memory.sources for part in (source.states, source.mask, source.weight)]
    return [word, *cache.own, *parts, *cache.given, *cache.keys]


def test_a_row_without_a_short_answer_stays_finite(exported: Exported) -> None:
    if not exported.settings.answer_source:
        pytest.skip("no source of this kind")
    batch = exported.reading(examples(4))
    none = torch.zeros_like(batch.answer.mask)
    absent = batch._replace(answer=batch.answer._replace(copyable=none))
    with torch.no_grad():
        memory = exported.network.encode(absent).packed()
        assert memory.sources[1].states.shape[1] == 1
        step, _ = exported.network.decode_step(memory, exported.network.begin(memory), answers(examples(4)).style)
    everything = torch.cat([step.vocabulary, *step.copied], dim=1)
    assert everything.isfinite().all()
    assert (memory.sources[1].tokens == exported.settings.words.classify).all()  # which is never written
    torch.testing.assert_close(everything.sum(dim=1), torch.ones(4))


def test_refuses_what_cannot_be_taken_apart() -> None:
    for settings in (PREAST, replace(JOINT, vocabulary=10, input_words=True)):
        made: MasqueNetwork = network(settings)
        with pytest.raises(WherefromError, match="only a joint network"):
            FlatRead(made)
    with pytest.raises(WherefromError, match="ranker=given"):
        FlatJudge(network(replace(JOINT, ranker="given")))
    with pytest.raises(WherefromError, match="core=rnn"):
        FlatStep(network(replace(PREAST, core="rnn", decoder_positions="none")))
