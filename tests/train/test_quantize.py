"""Eight bits: near to 32, the same alone and beside others, and within what old processors can add up."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="a small network is made with torch: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

import numpy
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from onnxruntime import InferenceSession, SessionOptions

from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import HeadSettings, ReaderNetwork
from wherefrom.systems.reader.export import to_onnx
from wherefrom.train.quantize import four_bits, quantized
from wherefrom.train.seeds import seed_everything

ENCODER = EncoderSettings("bert", 400, 64, 2, 4, 128, 96, types=2)
Feed = dict[str, NDArray[numpy.generic]]


@pytest.fixture(scope="module")
def network() -> ReaderNetwork:
    seed_everything("eight bits")
    made = ReaderNetwork(ENCODER, HeadSettings(inner=16)).eval()
    with torch.no_grad():
        for parameter in made.parameters():  # far enough from zero that rounding shows
            parameter.mul_(3.0)
    return made


@pytest.fixture(scope="module")
def models(network: ReaderNetwork, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    to_onnx(network, folder / "whole.onnx")
    quantized(folder / "whole.onnx", folder / "eight.onnx")
    return folder / "whole.onnx", folder / "eight.onnx"


def feed(lengths: list[int], padded: int) -> Feed:
    """Pairs of these lengths, padded on the right; token ids follow from their place."""
    shape = (len(lengths), padded)
    real = numpy.arange(padded)[None, :] < numpy.array(lengths)[:, None]
    tokens = (numpy.arange(shape[0])[:, None] * 37 + numpy.arange(padded)[None, :] * 11) % 390 + 5
    place = numpy.broadcast_to(numpy.arange(padded), shape)
    return {
        "tokens": numpy.where(real, tokens, 0).astype(numpy.int64),
        "mask": real,
        "passage": real & (place >= 6),
        "types": (real & (place >= 6)).astype(numpy.int64),
    }


def answers(model: Path, given: Feed, exact: str = "0") -> list[NDArray[numpy.float32]]:
    options = SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", exact)
    session = InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    found: list[NDArray[numpy.float32]] = session.run(["relevance", "start", "end", "no_answer"], given)
    return found


def test_eight_bits_are_near_to_32(models: tuple[Path, Path]) -> None:
    given = feed([40, 31, 22], 40)
    for whole, eight in zip(answers(models[0], given), answers(models[1], given), strict=True):
        spread = whole[whole > -1000].std()
        assert numpy.abs(whole - eight).max() < 0.15 * max(spread, 1.0)
        assert not numpy.array_equal(whole, eight)


def test_a_pair_reads_the_same_alone_padded_and_beside_others(models: tuple[Path, Path]) -> None:
    together = answers(models[1], feed([40, 31, 22], 60))
    alone = answers(models[1], feed([40], 40))
    for beside, single in zip(together, alone, strict=True):
        numpy.testing.assert_array_equal(beside[0, :40] if beside.ndim == 2 else beside[:1], numpy.squeeze(single))


def test_the_slower_way_for_old_processors_gives_the_same_numbers(models: tuple[Path, Path]) -> None:
    given = feed([40, 31], 40)
    for fast, slow in zip(answers(models[1], given), answers(models[1], given, exact="1"), strict=True):
        numpy.testing.assert_array_equal(fast, slow)


def test_products_and_word_embeddings_are_whole_numbers_and_heads_are_not(models: tuple[Path, Path]) -> None:
    model = onnx.load(str(models[1]))
    onnx.checker.check_model(model, full_check=False)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("MatMulIntegerToFloat") == 4 * ENCODER.layers
    kept = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    whole = {name: array for name, array in kept.items() if array.dtype == numpy.int8 and array.ndim == 2}
    assert len(whole) == 4 * ENCODER.layers + 1
    assert all(numpy.abs(array.astype(int)).max() == 127 for array in whole.values())
    assert not [name for name, array in kept.items() if array.dtype == numpy.float32 and array.size > 10_000]


def test_words_of_four_bits_are_half_as_large_and_near(tmp_path: Path) -> None:
    seed_everything("four bits")
    network = ReaderNetwork(EncoderSettings("bert", 5000, 64, 1, 4, 128, 96, types=2), HeadSettings(inner=16)).eval()
    to_onnx(network, tmp_path / "whole.onnx")
    quantized(tmp_path / "whole.onnx", tmp_path / "eight.onnx")
    quantized(tmp_path / "whole.onnx", tmp_path / "four.onnx", 4)
    assert (tmp_path / "four.onnx").stat().st_size < 0.65 * (tmp_path / "eight.onnx").stat().st_size
    given = feed([40, 31, 22], 40)
    for eight, four in zip(
        answers(tmp_path / "eight.onnx", given), answers(tmp_path / "four.onnx", given), strict=True
    ):
        spread = eight[eight > -1000].std()
        assert 0 < numpy.abs(eight - four).max() < 0.5 * max(spread, 0.1)
    alone = answers(tmp_path / "four.onnx", feed([40], 40))
    for beside, single in zip(answers(tmp_path / "four.onnx", given), alone, strict=True):
        numpy.testing.assert_array_equal(beside[0], numpy.squeeze(single))


def test_four_bits_keep_the_place_of_every_number() -> None:
    rows = numpy.zeros((2, 64), numpy.float32)
    rows[0, [0, 31, 32, 63]] = [7.0, -7.0, 3.0, -3.0]  # two groups, each with a scale of its own
    packed, scale = four_bits(rows)
    assert packed.shape == (2, 32)
    whole = numpy.concatenate([packed & 15, packed >> 4], axis=1).astype(int) - 8
    numpy.testing.assert_allclose(whole.reshape(2, 2, 32) * scale[:, :, None], rows.reshape(2, 2, 32), atol=2e-3)


def test_no_path_of_the_machine_that_exported_stays(models: tuple[Path, Path]) -> None:
    for model in models:
        assert b".py" not in model.read_bytes()


def test_a_row_or_column_of_zeros_stays_zero(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    weight = numpy.zeros((8, 16), numpy.float32)
    weight[:, 0] = numpy.arange(8)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 16])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, str(tmp_path / "whole.onnx"))
    quantized(tmp_path / "whole.onnx", tmp_path / "eight.onnx")
    session = InferenceSession(str(tmp_path / "eight.onnx"), providers=["CPUExecutionProvider"])
    rows = numpy.array([[0.0] * 8, [1.0] * 8], numpy.float32)
    (found,) = session.run(None, {"x": rows})
    assert found[0].tolist() == [0.0] * 16
    assert found[1, 0] == pytest.approx(28.0, rel=0.01)  # 0 + 1 + ... + 7
    assert found[1, 1:].tolist() == [0.0] * 15
