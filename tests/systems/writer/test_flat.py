"""The writer in ONNX: every shape is free, and onnxruntime says what torch says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
onnxruntime = pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")
pytest.importorskip("onnxscript", reason="torch exports through onnxscript")

import numpy  # noqa: E402

from runtime import tiny_writer  # noqa: E402
from train.letters import letters_tokenizer  # noqa: E402
from wherefrom.networks.decoder import Cache  # noqa: E402
from wherefrom.networks.writer import Memory, QuestionPassages, TargetAnswers, TokenSequences  # noqa: E402
from wherefrom.systems.writer.export import graphs  # noqa: E402
from wherefrom.systems.writer.network import WriterNetwork  # noqa: E402


class Exported:
    """A network and its four graphs, running in onnxruntime."""

    def __init__(self, network: WriterNetwork, folder: Path) -> None:
        torch.set_num_threads(1)
        self.network = network
        self.run = {name: session(folder / f"{name}.onnx", module) for name, module, _ in graphs(network)}

    def states(self, sequences: TokenSequences) -> Any:
        words = self.network.table().detach()[sequences.tokens]
        return self.run["encode"]([words, sequences.mask, sequences.types])[0]


def session(file: Path, module: Any) -> Any:
    """Runs on tensors in the module's order."""
    running = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    assert [one.name for one in running.get_inputs()] == list(module.inputs)
    assert [one.name for one in running.get_outputs()] == list(module.outputs)

    def run(inputs: Sequence[torch.Tensor]) -> list[Any]:
        given = {name: one.numpy() for name, one in zip(module.inputs, inputs, strict=True)}
        outputs: list[Any] = running.run(None, given)
        return outputs

    return run


def agree(actual: Sequence[Any], expected: Sequence[torch.Tensor]) -> None:
    for one, other in zip(actual, expected, strict=True):
        numpy.testing.assert_allclose(one, other.detach().numpy(), atol=1e-4)


@pytest.fixture(scope="module")
def exported(tiny_network: WriterNetwork, tiny_writer_weights: Path) -> Exported:
    return Exported(tiny_network, tiny_writer.whole(tiny_writer_weights))


def batch(size: int, passages: int = 2) -> tuple[QuestionPassages, TargetAnswers]:
    """Questions with so many passages; every second question has lost its last one."""
    reading, answers = tiny_writer.Drawn(size, letters_tokenizer()).batch(size)
    mask = reading.passages.mask[:, :passages].clone()
    mask[1::2, passages - 1] = passages == 1
    kept = TokenSequences(*(part[:, :passages] for part in reading.passages if part is not None))
    return reading._replace(passages=kept._replace(mask=mask)), answers


BATCHES = {"many": (8, 2), "one": (1, 2), "one with one passage": (1, 1), "two": (2, 2)}
EVERY = pytest.mark.parametrize("shape", BATCHES.values(), ids=BATCHES)


@EVERY
def test_onnx_reads_and_judges_as_torch_does(exported: Exported, shape: tuple[int, int]) -> None:
    reading, _ = batch(*shape)
    with torch.no_grad():
        memory = exported.network.encode(reading)
    questions, count, length = reading.passages.tokens.shape
    real = reading.passages.mask.any(dim=-1)
    states = exported.states(reading.passages.flat()).reshape(questions, count, length, -1)
    expected = memory.sources[-1].states.reshape(states.shape)
    agree([states[real.numpy()]], [expected[real]])
    assert reading.answer is not None
    there = reading.answer.mask.any(dim=-1)
    agree([exported.states(reading.answer)[there.numpy()]], [memory.sources[1].states[there]])
    judged = exported.run["judge"]([torch.from_numpy(states[:, :, 0].copy()), real])
    agree(judged, [memory.ranking.score, memory.ranking.log_beta, memory.answerable])


@EVERY
def test_onnx_writes_as_torch_does(exported: Exported, shape: tuple[int, int]) -> None:
    """From an empty cache on, with packed sources, each step on what onnxruntime itself gave before."""
    reading, answers = batch(*shape)
    with torch.no_grad():
        memory = exported.network.encode(reading).packed()
        cache = exported.network.begin(memory)
        begun = exported.run["begin"]([source.states for source in memory.sources])
        agree(begun, [*cache.given, *cache.keys])
        token, own = answers.style, cache.own
        listed = exported.network.pointer.support.listed
        for place in range(answers.target.shape[1]):
            step, cache = exported.network.decode_step(memory, cache, token)
            word = exported.network.table()[token][:, None]
            outputs = exported.run["step"](step_inputs(memory, cache._replace(own=own), word))
            agree(outputs, [step.vocabulary[:, listed], *step.copied, *cache.own])
            own = tuple(torch.from_numpy(part) for part in outputs[-2:])
            token = answers.target[:, place]


def step_inputs(memory: Memory, cache: Cache, word: torch.Tensor) -> list[torch.Tensor]:
    parts = [part for source in memory.sources for part in (source.states, source.mask, source.weight)]
    return [word, *cache.own, *parts, *cache.given, *cache.keys]


def test_a_row_without_a_short_answer_stays_finite(tiny_network: WriterNetwork) -> None:
    reading, answers = batch(4)
    assert reading.answer is not None
    none = torch.zeros_like(reading.answer.mask)
    absent = reading._replace(answer=reading.answer._replace(copyable=none))
    with torch.no_grad():
        memory = tiny_network.encode(absent).packed()
        assert memory.sources[1].states.shape[1] == 1
        step, _ = tiny_network.decode_step(memory, tiny_network.begin(memory), answers.style)
    everything = torch.cat([step.vocabulary, *step.copied], dim=1)
    assert everything.isfinite().all()
    assert not tiny_network.pointer.support.allowed[memory.sources[1].tokens].any()  # a token that is never written
    torch.testing.assert_close(everything.sum(dim=1), torch.ones(4))
