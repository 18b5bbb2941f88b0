"""Everything training needs to go on, in one file that is whole or absent.

Tensors (weights, their average, the optimiser's memory) are safetensors; plain numbers are JSON in the file's header.
Nothing is pickled. The learning rate and the random numbers follow from the step, so they are not kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from wherefrom.durable import write_whole
from wherefrom.train.average import Average
from wherefrom.train.errors import CheckpointUnusable
from wherefrom.train.tally import StepLosses


@dataclass(frozen=True, slots=True)
class State:
    """Where training stands, in plain numbers."""

    step: int = 0  # steps done
    epoch: int = 0
    position: int = 0  # microbatches of the epoch that are done, over all processes
    examples: int = 0  # what the task's sizes add up to
    seconds: float = 0.0
    log_bytes: int = 0  # the log's length; what comes after it is dropped on resuming
    metrics: Mapping[str, float] = field(default_factory=dict)  # of the last evaluation
    evaluated_step: int = -1  # ... and the step of it; -1 before the first
    best_metrics: Mapping[str, float] = field(default_factory=dict)
    best_step: int = -1
    stale: int = 0  # evaluations since the best one
    unreported: tuple[StepLosses, ...] = ()  # steps that the next log line will average
    scaler: Mapping[str, Any] = field(default_factory=dict)  # of fp16's loss scaling
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """What a checkpoint must agree on with the training that takes it up: settings and the task's facts, as JSON."""

    settings: Mapping[str, Any]
    facts: Mapping[str, Any]


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: Average | None,
    state: State,
    identity: Identity,
    adapted: Mapping[str, Tensor] | None = None,
) -> None:
    """Write the checkpoint, replacing the one before in one step; `adapted` is what a task's batches go by."""
    names = _names(model)
    tensors = {f"weights/{name}": tensor for name, tensor in unique_state(model).items()}
    tensors |= {f"average/{name}": tensor for name, tensor in (average.weights if average else {}).items()}
    for parameter, memory in optimizer.state.items():
        tensors |= {f"optimizer/{names[id(parameter)]}/{kind}": tensor for kind, tensor in memory.items()}
    tensors |= {f"task/{name}": tensor for name, tensor in (adapted or {}).items()}
    _save(path, tensors, {"state": asdict(state), "identity": asdict(identity)})


def read_identity(path: Path) -> Identity:
    """Which training a checkpoint is of."""
    _, about = _load(path, tensors=False)
    return Identity(**about["identity"])


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: Average | None) -> State:
    """Put a checkpoint's tensors into the model, the optimiser and the average; returns the numbers."""
    tensors, about = _load(path)
    _fill(unique_state(model), _below("weights/", tensors), path)
    _fill(average.weights if average else {}, _below("average/", tensors), path)
    _fill_optimizer(optimizer, _names(model), _below("optimizer/", tensors))
    numbers = about["state"]
    numbers["unreported"] = tuple(StepLosses(**losses) for losses in numbers["unreported"])
    return State(**numbers)


def load_adapted(path: Path) -> dict[str, Tensor]:
    """What the batches of a checkpoint's task go by; empty for most."""
    tensors, _ = _load(path)
    return _below("task/", tensors)


def save_weights(path: Path, model: nn.Module, about: Mapping[str, Any]) -> None:
    """Write a model's weights alone, with a few words about them in the header."""
    _save(path, unique_state(model), about)


def load_weights(model: nn.Module, path: Path, without: tuple[str, ...] = (), lacking: tuple[str, ...] = ()) -> None:
    """Put saved weights into a model of the same shape.

    Tensors whose names begin with one of `without` are left out; parts of the model whose names begin with one of
    `lacking` stay as they are where the file, older than they are, does not have them.
    """
    tensors, _ = _load(path)
    state = unique_state(model)
    wanted = {n: t for n, t in state.items() if n in tensors or not (lacking and n.startswith(lacking))}
    _fill(wanted, {name: t for name, t in tensors.items() if not name.startswith(without)}, path)


def saved_layers(path: Path, prefix: str = "encoder.layers.") -> int:
    """How many layers saved weights have: told by their names, so that a deeper network needs no note of its own."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            names = [name.removeprefix(prefix) for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointUnusable(f"cannot read {path}: {error}; restore it, or train it again") from error
    return 1 + max((int(name.split(".", 1)[0]) for name in names), default=-1)


def unique_state(model: nn.Module) -> dict[str, Tensor]:
    """The model's parameters and kept buffers; tied ones appear once, under their first name."""
    seen: set[int] = set()
    state: dict[str, Tensor] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            state[name] = tensor.detach()
    return state


def _names(model: nn.Module) -> dict[int, str]:
    return {id(parameter): name for name, parameter in model.named_parameters()}


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _save(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    header = {"about": json.dumps(about)}  # one entry only: safetensors writes several in no fixed order
    write_whole(path, lambda unfinished: save_file(ready, unfinished, metadata=header))


def _load(path: Path, tensors: bool = True) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            names = file.keys() if tensors else ()
            return {name: file.get_tensor(name) for name in names}, json.loads(file.metadata()["about"])
    except (SafetensorError, OSError, TypeError, KeyError, ValueError) as error:  # the last three: a foreign header
        raise CheckpointUnusable(f"cannot read {path}: {error}; restore it, or train in an empty folder") from error


@torch.no_grad()
def _fill(into: Mapping[str, Tensor], tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy tensors over those of the same name, all of them or none."""
    wrong = sorted(into.keys() ^ tensors.keys()) or sorted(
        name for name, tensor in into.items() if tensor.shape != tensors[name].shape
    )
    if wrong:
        raise CheckpointUnusable(
            f"{path} is of another network: {wrong[0]} (of {len(wrong)} such) is missing on one side or has another "
            "shape; use the task and settings it was trained with"
        )
    for name, tensor in into.items():
        tensor.copy_(tensors[name])


def _fill_optimizer(optimizer: torch.optim.Optimizer, names: Mapping[int, str], tensors: Mapping[str, Tensor]) -> None:
    """Give the optimiser its memory back; a parameter that never had a gradient has none."""
    memories: dict[str, dict[str, Tensor]] = {}
    for full, tensor in tensors.items():
        name, _, kind = full.rpartition("/")
        memories.setdefault(name, {})[kind] = tensor
    ordered = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state = {
        index: memories[names[id(parameter)]]
        for index, parameter in enumerate(ordered)
        if names[id(parameter)] in memories
    }
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
