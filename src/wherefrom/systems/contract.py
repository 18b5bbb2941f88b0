"""What a system is: the few things that `wherefrom train` and `wherefrom reproduce` ask of one.

`systems/<name>/about.py` says, without torch, what it is made from and in which stages; `systems/<name>/system.py` has

    DEFAULTS                                                the settings, a tree of dataclasses
    stages(settings, inputs, out, say) -> [Stage]           how it is made
    measure(settings, inputs, wanted, out, say) -> Scores       what it is worth, for a row of a paper; may be missing
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from wherefrom.config import layers, overridden, updated
from wherefrom.errors import WherefromError
from wherefrom.train.stages import Say, Stage

__all__ = ["About", "InputMissing", "Measuring", "NotTrained", "Say", "Scores", "Stage", "System", "Wanted", "given"]

EXTRA = ("torch", "safetensors", "numpy", "tokenizers", "onnx", "onnxruntime", "onnxscript")  # what [train] brings


class InputMissing(WherefromError):
    """An input that is needed was not named."""

    exit_code = 2


class NotTrained(WherefromError):
    """What a row of a paper is measured of is not made yet; the message says how it is."""

    exit_code = 2


def given(help: str, *, default: Any = MISSING, env: str = "", inside: str = "", metavar: str = "") -> Any:
    """A field of a system's `Inputs`, and an option of the commands that make or measure it.

    `env` names a variable that may hold it; `inside` names its place in OUT where it is not given.
    """
    about = {"help": help, "env": env, "inside": inside, "metavar": metavar}
    if inside:
        default = None
    return field(default=default, metadata=about)


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a system without loading it."""

    name: str
    summary: str  # the help of `wherefrom train NAME`
    inputs: type  # a dataclass of `given` fields
    stages: tuple[str, ...]
    use: str = ""  # how the result is used; {weights} stands for its folder
    recipe: Path | None = None  # the settings of what is shipped
    needs: tuple[str, ...] = EXTRA  # modules that making it imports


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a row of a paper asks of a system."""

    name: str  # of the settings, for folders and reports
    measure: str = ""  # which of the ways that the system knows to measure itself
    reported: tuple[str, ...] = ()  # the names of the numbers
    group: str = ""  # the kind of question alone that is counted
    dataset: str = ""  # as the paper names it
    split: str = ""  # of the dataset, likewise
    may_train: bool = False  # whether what is not trained yet is to be trained
    uses: Mapping[str, Any] = field(default_factory=dict)  # other settings that the row's name, resolved, by their part


@dataclass(frozen=True, slots=True)
class Scores:
    """What was measured."""

    metrics: Mapping[str, float]  # shares are fractions from 0 to 1
    seed: int
    files: tuple[Path, ...] = ()  # every file that was read to train and to score
    as_printed: bool = False  # the paper's own data and weights were used, where the row names a stand-in


@runtime_checkable
class System(Protocol):
    """A module `systems/<name>/system.py`."""

    DEFAULTS: Any

    def stages(self, settings: Any, inputs: Any, out: Path, say: Say) -> Sequence[Stage]: ...


@runtime_checkable
class Measuring(System, Protocol):
    """One that rows of papers can be run with."""

    def measure(self, settings: Any, inputs: Any, wanted: Wanted, out: Path, say: Say) -> Scores: ...


_Inputs = TypeVar("_Inputs")


def inputs_of(kind: type[_Inputs], values: Mapping[str, Any], out: Path) -> _Inputs:
    """The inputs that were named, the others in their place in `out`; one that is needed and missing is an error."""
    filled: dict[str, Any] = {}
    for each in input_fields(kind):
        value = values.get(each.name)
        if value is None and each.metadata["inside"]:
            value = out / each.metadata["inside"]
        if value is not None:
            filled[each.name] = value
        elif is_needed(each):
            raise InputMissing(f"--{each.name.replace('_', '-')} is needed: {each.metadata['help']}")
    return kind(**filled)


def input_fields(kind: type) -> tuple[Field[Any], ...]:
    return fields(kind)


def is_needed(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def settings_of(defaults: Any, toml: Path | None, overrides: Sequence[str] = ()) -> Any:
    """The defaults, then a TOML file and those it is based on, then each `section.name=value`."""
    settings = defaults
    for file, values in layers(toml) if toml is not None else ():
        settings = updated(settings, values, str(file))
    for override in overrides:
        settings = overridden(settings, override)
    return settings
