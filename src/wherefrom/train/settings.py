"""The settings of the training loop, each beside its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from wherefrom.errors import SettingsError

Precision = Literal["fp32", "bf16", "fp16"]
Decay = Literal["linear", "cosine", "none", "inverse-root"]
Optimizer = Literal["adamw", "adamax"]
Goal = Literal["max", "min"]


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """How a network is trained. A *step* is one update of the weights; a task gives *microbatches*."""

    seed: int = 0  # first weights, order of the data and dropout all follow from it
    epochs: int = 3  # passes over the data
    steps: int = 0  # above 0: this many steps, however many epochs that takes
    accumulate: int = 1  # microbatches of one step, counted over all processes: one GPU and eight train alike
    precision: Precision = "fp32"  # bf16 on recent GPUs; fp16 (with loss scaling) on those without bf16

    optimizer: Optimizer = "adamw"  # adamax: steps bounded by the largest gradient seen, what DrQA was trained with
    learning_rate: float = 3e-4  # the highest, reached after the warm-up
    group_rates: Mapping[str, float] = field(default_factory=dict)  # by prefix of the parameter's name; 0 freezes
    warmup: float = 0.06  # share of the steps; Adam's first estimates of the variance are poor
    decay: Decay = (
        "linear"  # after the warm-up; inverse-root: rate * min(s^-0.5, s w^-1.5) in step s from 1, w warm-up steps
    )
    group_warmups: Mapping[str, int] = field(default_factory=dict)  # inverse-root: steps, by prefix of the name
    final_rate: float = 0.0  # share of the learning rate left at the last step
    weight_decay: float = 0.01  # decoupled (AdamW; Adamax adds it to the gradient); never on biases and norms
    decay_embeddings: bool = False  # off: a rare word's vector would shrink in every step that does not see it
    beta1: float = 0.9  # memory of the gradient
    beta2: float = 0.999  # memory of its square; 0.98 is steadier for long warm-ups of transformers
    epsilon: float = 1e-8  # Adam's; 1e-6 for bf16 networks with tiny gradients
    clip: float = 1.0  # highest global norm of the gradient; 0 does not clip
    ema: float = 0.0  # decay of the running average of the weights, such as 0.999; 0 keeps none

    metric: str = ""  # of the task's evaluation: its best weights are kept; without one, the last weights
    goal: Goal = "max"  # what is better: more of the metric, or less
    patience: int = 0  # stop after this many evaluations without a gain; 0 never stops early
    least_steps: int = 0  # ... but not before this step: by chance the best of a network that has learnt nothing yet is
    # its first evaluation, and the next few are no better
    evaluate_every: int = 0  # steps; 0 evaluates after each epoch
    evaluate_first: bool = True  # a broken evaluation shows before an hour of training, and the curve has its start

    report_every: int = 20  # steps between log lines; reading the loss makes a GPU wait, so not each step
    checkpoint_every: int = 500  # steps; one is also kept at each evaluation. A kill loses at most this much

    def __post_init__(self) -> None:
        for name in ("accumulate", "report_every", "checkpoint_every", "learning_rate", "epsilon"):
            self._check(name, getattr(self, name) > 0, "above 0")
        for name in ("steps", "weight_decay", "clip", "patience", "least_steps", "evaluate_every", "seed"):
            self._check(name, getattr(self, name) >= 0, "0 or above")
        for name in ("beta1", "beta2", "ema"):
            self._check(name, 0.0 <= getattr(self, name) < 1.0, "at least 0 and below 1")
        for name in ("warmup", "final_rate"):
            self._check(name, 0.0 <= getattr(self, name) <= 1.0, "a share from 0 to 1")
        for name, choices in (("precision", Precision), ("decay", Decay), ("optimizer", Optimizer), ("goal", Goal)):
            known = get_args(choices)
            self._check(name, getattr(self, name) in known, f"one of {', '.join(known)}")
        self._check("epochs", self.epochs > 0 or self.steps > 0, "above 0 (or set loop.steps)")
        if self.patience and not self.metric:
            raise SettingsError(f"loop.patience is {self.patience}, but loop.metric does not say which metric to watch")
        if (self.decay == "inverse-root") != bool(self.group_warmups):
            raise SettingsError("loop.group_warmups and loop.decay=inverse-root belong together: name both or neither")
        for prefix, steps in self.group_warmups.items():
            if steps < 1:
                raise SettingsError(f"loop.group_warmups.{prefix} must be at least 1 step, not {steps}")
        for prefix, rate in self.group_rates.items():
            if not rate >= 0:
                raise SettingsError(f"loop.group_rates.{prefix} must be 0 or above, not {rate}")

    def _check(self, name: str, good: bool, wanted: str) -> None:
        if not good:
            raise SettingsError(f"loop.{name} must be {wanted}, not {getattr(self, name)}")

    def better(self, value: float, best: float) -> bool:
        """Whether `value` of the metric beats `best`."""
        return value > best if self.goal == "max" else value < best

    def described(self, *without: str) -> dict[str, Any]:
        """As JSON, for names of trainings; what came later is left out where it does nothing, so that they stay."""
        later = () if self.least_steps else ("least_steps",)
        return {name: value for name, value in asdict(self).items() if name not in (*without, *later)}
