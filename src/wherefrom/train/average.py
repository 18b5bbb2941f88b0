"""A running average of the weights, which often generalises better than the last step's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


class Average:
    """The exponential moving average of the parameters that learn, kept in full precision."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._decay = decay
        self._live = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        self.weights: dict[str, Tensor] = {
            name: parameter.detach().clone().float() for name, parameter in self._live.items()
        }

    def follow(self, step: int) -> None:
        """Move towards the weights after `step` steps: average <- d average + (1 - d) weights.

        d = min(decay, (1 + step) / (10 + step)), so that the random first weights are soon forgotten.
        """
        decay = min(self._decay, (1 + step) / (10 + step))
        live: list[Tensor | nn.Parameter] = [parameter.detach().float() for parameter in self._live.values()]
        get_ema_multi_avg_fn(decay)([*self.weights.values()], live, step)  # type: ignore[no-untyped-call]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model holds the average inside the `with`, and its own weights again after it."""
        own = {name: parameter.detach().clone() for name, parameter in self._live.items()}
        try:
            _copy(self.weights, self._live)
            yield
        finally:
            _copy(own, self._live)


@torch.no_grad()
def _copy(source: dict[str, Tensor], target: dict[str, nn.Parameter]) -> None:
    for name, parameter in target.items():
        parameter.copy_(source[name])
