"""AdamW or Adamax over groups of parameters: who decays, who learns at which rate."""

from __future__ import annotations

import difflib
from typing import Any

import torch
from torch import nn

from wherefrom.errors import SettingsError
from wherefrom.train.schedule import inverse_root
from wherefrom.train.settings import LoopSettings

_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase, nn.LocalResponseNorm)
_EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)


def freeze(model: nn.Module, settings: LoopSettings) -> None:
    """Switch off the gradients of parameters whose group has the rate 0."""
    for name, parameter in model.named_parameters():
        if rate_of(name, settings) == 0.0:
            parameter.requires_grad_(False)


def optimizer(model: nn.Module, settings: LoopSettings, device: torch.device) -> torch.optim.Optimizer:
    """The optimiser of the settings; each group remembers its highest rate as `highest` for the schedule."""
    betas = (settings.beta1, settings.beta2)
    if settings.optimizer == "adamax":
        return torch.optim.Adamax(groups(model, settings), betas=betas, eps=settings.epsilon)
    return torch.optim.AdamW(groups(model, settings), betas=betas, eps=settings.epsilon, fused=device.type == "cuda")


def groups(model: nn.Module, settings: LoopSettings) -> list[dict[str, Any]]:
    """The parameters that learn, by their rate and their decay."""
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    for prefix in settings.group_rates:
        if not any(name.startswith(prefix) for name, _ in model.named_parameters()):
            raise SettingsError(f"loop.group_rates.{prefix} fits no parameter{_suggestion(prefix, model)}")
    if not named:
        raise SettingsError("nothing to train: no parameter wants a gradient; check loop.group_rates")
    decaying = decaying_names(model, settings.decay_embeddings)
    members: dict[tuple[float, float, int], list[nn.Parameter]] = {}
    for name, parameter in named.items():
        decay = settings.weight_decay if name in decaying else 0.0
        members.setdefault((rate_of(name, settings), decay, warmup_of(name, settings)), []).append(parameter)
    return [
        {"params": parameters, "lr": rate, "highest": rate, "weight_decay": decay, "warmup": warmup}
        for (rate, decay, warmup), parameters in members.items()
    ]


def rate_of(name: str, settings: LoopSettings) -> float:
    """The highest learning rate of a parameter: that of the longest prefix that fits its name."""
    fitting = [prefix for prefix in settings.group_rates if name.startswith(prefix)]
    return settings.group_rates[max(fitting, key=len)] if fitting else settings.learning_rate


def warmup_of(name: str, settings: LoopSettings) -> int:
    """The warm-up steps of a parameter's own schedule, by the longest prefix; 0 where it follows the common one."""
    fitting = [prefix for prefix in settings.group_warmups if name.startswith(prefix)]
    return settings.group_warmups[max(fitting, key=len)] if fitting else 0


def decaying_names(model: nn.Module, embeddings: bool) -> set[str]:
    """The parameters that weight decay may shrink: no biases, no norms, embeddings if wanted."""
    spared = _NORMS if embeddings else _NORMS + _EMBEDDINGS
    spared_parameters = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, spared)
        for parameter in module.parameters(recurse=False)
    }
    return {
        name
        for name, parameter in model.named_parameters()
        if parameter.ndim > 1 and not name.endswith("bias") and id(parameter) not in spared_parameters
    }


def set_rates(optimizer: torch.optim.Optimizer, share: float, step: int = 0) -> None:
    """Give each group this share of its highest rate; one with a warm-up of its own that of its inverse root."""
    for group in optimizer.param_groups:
        own = inverse_root(step, group["warmup"]) if group.get("warmup") else share
        group["lr"] = group["highest"] * own


def _suggestion(prefix: str, model: nn.Module) -> str:
    tops = sorted({name.partition(".")[0] for name, _ in model.named_parameters()})
    close = difflib.get_close_matches(prefix, tops, n=1)
    return f"; did you mean {close[0]}?" if close else f"; names begin with {', '.join(tops)}"
