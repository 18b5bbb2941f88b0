"""The one training loop.

    for progress in fit(task, LoopSettings(metric="f1"), Path("runs/reader"), device="cuda"):
        print(progress)
    model = trained(task, Path("runs/reader"))

Start it again after a kill and it goes on where it was, to the same end. Start it with `torchrun` and the processes
share the work: each takes some of the microbatches of a step; the first one alone evaluates, writes and yields.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Generic

import torch
from torch import Tensor

from wherefrom.durable import remove_unfinished, write_text, write_whole
from wherefrom.errors import SettingsError
from wherefrom.origin import commit_of
from wherefrom.train.average import Average
from wherefrom.train.batching import dealt, moved
from wherefrom.train.checkpoint import (
    Identity,
    State,
    load_adapted,
    load_checkpoint,
    load_weights,
    read_identity,
    save_checkpoint,
    save_weights,
    unique_state,
)
from wherefrom.train.curves import curves
from wherefrom.train.errors import CheckpointUnusable, Diverged, TrainingError
from wherefrom.train.log import Log, read_log
from wherefrom.train.optimizer import freeze, optimizer, set_rates
from wherefrom.train.processes import Processes, joined
from wherefrom.train.progress import Progress
from wherefrom.train.provenance import PROVENANCE, Provenance, device_name, versions, write_provenance
from wherefrom.train.schedule import rate_share
from wherefrom.train.seeds import seed_everything
from wherefrom.train.settings import LoopSettings
from wherefrom.train.tally import Share, Tally
from wherefrom.train.task import Adapting, Batch, Batches, Network, Task

__all__ = ["PROVENANCE", "LoopSettings", "Progress", "fit", "fitted", "trained"]

LAST = "last.safetensors"  # the checkpoint
MODEL = "model.safetensors"  # the weights that were kept, once training has finished
LOG = "log.jsonl"
CURVES = "curves.svg"

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_MAY_CHANGE = {"checkpoint_every"}  # settings that do not touch what is learnt or logged


def fit(
    task: Task[Network, Batch], settings: LoopSettings, folder: Path, device: str | torch.device = "cpu"
) -> Iterator[Progress]:
    """Train into `folder`, or go on with the training it holds; yields a report now and then.

    Nothing happens until it is iterated. The last report has `finished` set. Under `torchrun` every process iterates;
    all see the same folder, and only the first one's iterator gives reports.
    """
    with joined(device) as processes, ExitStack() as closing:
        training = _Training(task, settings, folder, processes, closing)
        for progress in training.run():
            if processes.first:
                yield progress


def trained(task: Task[Network, Batch], folder: Path, device: str | torch.device = "cpu") -> Network:
    """The task's network with the weights kept in `folder`, in eval mode."""
    if not (folder / MODEL).exists():
        raise CheckpointUnusable(f"{folder} holds no {MODEL}: training has not finished there")
    model = task.model()
    load_weights(model, folder / MODEL)
    return model.to(device).eval()


def fitted(
    task: Task[Network, Batch],
    settings: LoopSettings,
    folder: Path,
    device: str | torch.device = "cpu",
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """`fit` to the end, telling progress; gives the training's provenance.

    A training that has finished already, here or on another machine, is not begun again if it is the same.
    """
    torch.set_float32_matmul_precision("high")
    torch.backends.cuda.enable_cudnn_sdp(
        False
    )  # it plans anew for every length, and its gradients were once no numbers
    before = _finished(folder)
    if before and (folder / MODEL).exists() and _same(before, task, settings):
        say("already trained")
        return before
    say(f"training in {folder} on {device}")
    for progress in fit(task, settings, folder, device):
        say(str(progress))
    return _finished(folder)


def _finished(folder: Path) -> dict[str, Any]:
    """The provenance of a finished training; empty where there is none."""
    try:
        provenance: dict[str, Any] = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return provenance if provenance.get("finished") else {}


def _same(before: Mapping[str, Any], task: Task[Network, Batch], settings: LoopSettings) -> bool:
    """Whether a training had these facts and settings; what it is too old to know of is as it was by default."""
    ours, theirs = _as_json(asdict(settings)), {**_as_json(asdict(LoopSettings())), **before["settings"]}
    for values in (ours, theirs):
        for name in _MAY_CHANGE:
            values.pop(name, None)
    return ours == theirs and _as_json(asdict(task.facts())) == before["task"]


class _Training(Generic[Network, Batch]):
    """One training: its network and optimiser, and the state that says how far it is."""

    def __init__(
        self, task: Task[Network, Batch], settings: LoopSettings, folder: Path, processes: Processes, closing: ExitStack
    ) -> None:
        self._task, self._settings, self._folder, self._processes = task, settings, folder, processes
        self._closing = closing  # closes the log
        self._device = processes.device
        self._identity = Identity(_as_json(asdict(settings)), _as_json(asdict(task.facts())))
        self._state = State()
        self._tally = Tally()

    def run(self) -> Iterator[Progress]:
        """The whole of it."""
        self._check_processes()
        self._build()
        if not self._resume():
            yield from self._start()
        while not self._over():
            self._step()
            if self._report_due():
                progress = self._report()
                self._checkpoint_if_due()
                yield progress
            else:
                self._checkpoint_if_due()
        yield self._finish()

    # How far it is. All of it follows from the state, so that a resumed training decides alike.

    def _over(self) -> bool:
        state, patience = self._state, self._settings.patience
        impatient = 0 < patience <= state.stale and state.step == state.evaluated_step >= self._settings.least_steps
        return state.finished or state.step >= self._steps or impatient

    def _evaluation_due(self) -> bool:
        step, every = self._state.step, self._settings.evaluate_every
        return step >= self._steps or (step % every == 0 if every else self._state.position == 0)

    def _report_due(self) -> bool:
        return self._state.step % self._settings.report_every == 0 or self._evaluation_due()

    def _rate_share(self, step: int) -> float:
        settings = self._settings
        return rate_share(step, self._steps, settings.warmup, settings.decay, settings.final_rate)

    # Beginning.

    def _check_processes(self) -> None:
        if self._settings.accumulate % self._processes.count:
            raise SettingsError(
                f"loop.accumulate counts the microbatches of a step over all processes: with {self._processes.count} "
                f"processes it must be a multiple of {self._processes.count}, not {self._settings.accumulate}"
            )

    def _build(self) -> None:
        settings = self._settings
        seed_everything(settings.seed, "model")
        self._model = self._task.model().to(self._device)
        freeze(self._model, settings)
        self._optimizer = optimizer(self._model, settings, self._device)
        self._learning = [parameter for parameter in self._model.parameters() if parameter.requires_grad]
        named = {name for name, _ in self._model.named_parameters()}
        self._buffers = [tensor for name, tensor in unique_state(self._model).items() if name not in named]
        self._processes.follow_first([*unique_state(self._model).values()])
        self._average = Average(self._model, settings.ema) if settings.ema else None
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=settings.precision == "fp16")
        self._steps = settings.steps or sum(
            math.ceil(len(self._epoch_batches(epoch)) / settings.accumulate) for epoch in range(settings.epochs)
        )
        self._batches: tuple[int, Batches[Batch]] | None = None  # of the epoch under way
        self._adapted: Mapping[str, Tensor] = {}  # what they go by, where the task adapts to what was learnt

    def _epoch_batches(self, epoch: int) -> Batches[Batch]:
        batches = self._task.batches(epoch, self._settings.seed)
        if len(batches) == 0:
            raise TrainingError(f"the task {self._identity.facts['name']} has no microbatches in epoch {epoch}")
        return batches

    def _resume(self) -> bool:
        """Take up the folder's checkpoint, if there is one."""
        last = self._folder / LAST
        checkpointed = self._processes.from_first(last.exists())
        if checkpointed:
            self._check_same_training(read_identity(last))
            self._state = load_checkpoint(last, self._model, self._optimizer, self._average)
            self._scaler.load_state_dict(dict(self._state.scaler))
            self._tally.settled.extend(self._state.unreported)
            if isinstance(self._task, Adapting):
                self._adapted = load_adapted(last)
                self._task.adapted(self._adapted)
        elif (self._folder / MODEL).exists():
            raise CheckpointUnusable(f"{self._folder} holds a {MODEL} but no {LAST}; train in an empty folder")
        self._processes.from_first(None)  # nobody writes before everybody has read
        if self._processes.first:
            self._folder.mkdir(parents=True, exist_ok=True)
            remove_unfinished(self._folder)
            self._log = self._closing.enter_context(Log(self._folder / LOG, self._state.log_bytes))
        self._clock = time.monotonic() - self._state.seconds
        self._own_start = self._mark = (time.monotonic(), self._state.step, self._state.examples)
        return checkpointed

    def _check_same_training(self, there: Identity) -> None:
        for name, value in self._identity.settings.items():
            before = there.settings.get(name, getattr(LoopSettings(), name))  # begun before there was such a setting
            if value != before and name not in _MAY_CHANGE:
                raise SettingsError(
                    f"loop.{name} is {value!r}, but {self._folder} was begun with {before!r}; "
                    "use that, or train in an empty folder"
                )
        if there.facts != self._identity.facts:
            differing = sorted(key for key, value in self._identity.facts.items() if value != there.facts.get(key))
            raise CheckpointUnusable(
                f"{self._folder} was begun with another task or other data ({', '.join(differing)} differ); "
                "train in an empty folder"
            )

    def _start(self) -> Iterator[Progress]:
        """The step 0: a first evaluation and a checkpoint to fall back on."""
        self._write_provenance()
        if self._settings.evaluate_first:
            progress = self._report()
            self._checkpoint()
            yield progress
        else:
            self._checkpoint()

    # One step.

    def _step(self) -> None:
        """One update of the weights, from this process's microbatches and everyone's gradients."""
        state, settings = self._state, self._settings
        batches = self._current_batches()
        stop = min(state.position + settings.accumulate, len(batches))
        mine = [(p, batches[p]) for p in dealt(state.position, stop, self._processes.rank, self._processes.count)]
        sizes = [self._size(batch, position) for position, batch in mine]
        examples = self._processes.total(sum(sizes))
        shares: list[Share] = []
        for (position, batch), size in zip(mine, sizes, strict=True):
            shares += self._backward(position, batch, size / examples)
        self._processes.sum_gradients(self._learning)
        norm = self._update()
        self._processes.follow_first(self._buffers)
        ended = stop == len(batches)
        self._state = replace(
            state,
            step=state.step + 1,
            epoch=state.epoch + 1 if ended else state.epoch,
            position=0 if ended else stop,
            examples=state.examples + examples,
        )
        self._tally.add(self._state.step, shares, norm)
        if self._average is not None:
            self._average.follow(self._state.step)

    def _current_batches(self) -> Batches[Batch]:
        if self._batches is None or self._batches[0] != self._state.epoch:
            self._batches = (self._state.epoch, self._epoch_batches(self._state.epoch))
        return self._batches[1]

    def _size(self, batch: Batch, position: int) -> int:
        size = self._task.size(batch)
        if size < 1:
            raise TrainingError(
                f"the task {self._identity.facts['name']} gives microbatch {position} of epoch {self._state.epoch} "
                f"the size {size}; it must be at least 1"
            )
        return size

    def _backward(self, position: int, batch: Batch, share: float) -> list[Share]:
        """Add one microbatch's share of the step's gradient; returns its losses."""
        seed_everything(self._settings.seed, self._state.epoch, position)
        self._model.train()
        with self._autocast():
            loss, parts = self._task.loss(self._model, moved(batch, self._device))
        torch.autograd.backward(self._scaler.scale(loss.float() * share))
        numbers: dict[str, Tensor | float] = {"loss": loss, **parts}
        return [(name, self._scalar(value), share) for name, value in numbers.items()]

    def _scalar(self, value: Tensor | float) -> Tensor:
        return torch.as_tensor(value, device=self._device).detach().float().reshape(())

    def _update(self) -> Tensor:
        """Move the weights along the gathered gradients; returns the gradient's norm before clipping."""
        set_rates(self._optimizer, self._rate_share(self._state.step), self._state.step)
        self._scaler.unscale_(self._optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self._learning, self._settings.clip or math.inf)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._optimizer.zero_grad(set_to_none=True)
        return norm

    def _autocast(self) -> torch.autocast:
        precision = self._settings.precision
        return torch.autocast(self._device.type, dtype=_DTYPES[precision], enabled=precision != "fp32")

    # Reports, evaluations and files.

    def _report(self) -> Progress:
        """Read the losses, evaluate if it is time, and log both."""
        self._settle()
        seconds, steps, examples = self._since_mark()
        losses, norm = self._tally.report()
        metrics: dict[str, float] = {}
        best = False
        if self._evaluation_due():
            metrics = self._evaluate()
            best = self._keep_if_best(metrics)
            self._adapt()
        state = self._state
        rate = self._settings.learning_rate * self._rate_share(max(0, state.step - 1))
        epoch = self._epochs_done()
        row: dict[str, object] = {"step": state.step, "epoch": round(epoch, 6), "losses": losses}
        row |= {"gradient_norm": norm, "learning_rate": rate, "metrics": metrics}
        if self._processes.first:
            self._log.append(row)
            if metrics:
                self._draw(kept_step=state.best_step)
        self._mark = (time.monotonic(), state.step, state.examples)
        return Progress(
            step=state.step,
            steps=self._steps,
            epoch=epoch,
            losses=losses,
            gradient_norm=norm,
            learning_rate=rate,
            metrics=metrics,
            best=best,
            steps_per_second=steps / seconds,
            examples_per_second=examples / seconds,
            seconds_left=self._seconds_left(),
        )

    def _settle(self) -> None:
        """Read the losses from the device; stop if one is no number."""
        for losses in self._tally.settle(self._processes):
            wrong = [f"{name} is {value}" for name, value in losses.values.items() if not math.isfinite(value)]
            if not math.isfinite(losses.gradient_norm) and self._settings.precision != "fp16":  # fp16 skips such steps
                wrong.append(f"the gradient's norm is {losses.gradient_norm}")
            if wrong:
                raise Diverged(
                    f"step {losses.step}: {', '.join(wrong)}. The checkpoint in {self._folder} is from before that. "
                    "Look at the microbatches of this step; else lower loop.learning_rate or loop.clip, raise "
                    "loop.warmup, or use loop.precision fp32, and train in an empty folder"
                )

    def _evaluate(self) -> dict[str, float]:
        """The metrics of the weights that would be kept now, measured by the first process."""
        metrics: dict[str, float] = {}
        if self._processes.first:
            seed_everything(self._settings.seed, "evaluate", self._state.step)
            self._model.eval()
            with self._kept_weights(), torch.no_grad(), self._autocast():
                metrics = {name: float(value) for name, value in self._task.evaluate(self._model).items()}
        metrics = self._processes.from_first(metrics)
        watched = self._settings.metric
        if watched and watched not in metrics:
            raise SettingsError(f"loop.metric is {watched!r}, but the evaluation gives {', '.join(metrics) or 'none'}")
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise TrainingError(
                    f"step {self._state.step}: the evaluation gives {value} for {name}; mend the evaluation or the "
                    f"metric, and start again: training goes on from the checkpoint in {self._folder}"
                )
        self._state = replace(self._state, metrics=metrics, evaluated_step=self._state.step)
        return metrics

    def _kept_weights(self) -> AbstractContextManager[None]:
        """Inside the `with`, the model holds the averaged weights, if an average is kept."""
        return self._average.in_place() if self._average is not None else nullcontext()

    def _keep_if_best(self, metrics: Mapping[str, float]) -> bool:
        """Save the weights if the watched metric has never been better."""
        state, watched = self._state, self._settings.metric
        if not watched:
            return False
        if state.best_step >= 0 and not self._settings.better(metrics[watched], state.best_metrics[watched]):
            self._state = replace(state, stale=state.stale + 1)
            return False
        self._state = replace(state, best_metrics=metrics, best_step=state.step, stale=0)
        if self._processes.first:
            self._save_kept(self._best_path())
        return True

    def _adapt(self) -> None:
        """Let the task choose its next epoch by the best weights; never inside one, whose microbatches are counted."""
        if not isinstance(self._task, Adapting) or self._state.position:
            return
        adapted: Mapping[str, Tensor] = {}
        if self._processes.first:
            seed_everything(self._settings.seed, "adapt", self._state.step)
            self._model.eval()
            with self._best_weights(), torch.no_grad(), self._autocast():
                given = self._task.adapt(self._model, self._state.stale)
                adapted = {name: tensor.cpu() for name, tensor in given.items()}
        self._adapted = self._processes.from_first(adapted)
        self._task.adapted(self._adapted)

    @contextmanager
    def _best_weights(self) -> Iterator[None]:
        """Inside the `with`, the model holds the weights that would be kept if training ended now."""
        if not self._state.stale:
            with self._kept_weights():
                yield
            return
        own = {name: tensor.clone() for name, tensor in unique_state(self._model).items()}
        load_weights(self._model, self._best_path())
        try:
            yield
        finally:
            with torch.no_grad():
                for name, tensor in unique_state(self._model).items():
                    tensor.copy_(own[name])

    def _best_path(self) -> Path:
        return self._folder / f"best-{self._state.best_step}.safetensors"  # the checkpoint says which one counts

    def _save_kept(self, path: Path) -> None:
        with self._kept_weights():
            save_weights(path, self._model, {"task": self._identity.facts["name"], "step": self._state.step})

    def _checkpoint_if_due(self) -> None:
        if self._state.step % self._settings.checkpoint_every == 0 or self._evaluation_due():
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Save everything; first make sure that it is worth saving."""
        self._settle()
        if not self._processes.first:
            return
        self._log.force()
        self._state = replace(
            self._state,
            seconds=time.monotonic() - self._clock,
            log_bytes=self._log.size,
            unreported=tuple(self._tally.settled),
            scaler=self._scaler.state_dict(),
        )
        path = self._folder / LAST
        save_checkpoint(path, self._model, self._optimizer, self._average, self._state, self._identity, self._adapted)
        for other in self._folder.glob("best-*.safetensors"):
            if other != self._best_path():
                other.unlink()

    def _finish(self) -> Progress:
        """Put the kept weights and the evidence into the folder."""
        if self._processes.first and not self._state.finished:
            if self._settings.metric:
                write_whole(self._folder / MODEL, lambda path: shutil.copyfile(self._best_path(), path))
            else:
                self._save_kept(self._folder / MODEL)
            self._draw(self._kept_step())
            self._state = replace(self._state, finished=True, seconds=time.monotonic() - self._clock)
            self._write_provenance()
            self._checkpoint()  # the last thing written: from now on, there is nothing to resume
        if self._processes.first:
            self._best_path().unlink(missing_ok=True)  # now it is the model
        return Progress(
            step=self._state.step,
            steps=self._steps,
            epoch=self._epochs_done(),
            losses={},
            gradient_norm=None,
            learning_rate=0.0,
            metrics=self._kept_metrics(),
            best=False,
            steps_per_second=0.0,
            examples_per_second=0.0,
            seconds_left=0.0,
            finished=True,
        )

    def _kept_step(self) -> int:
        return self._state.best_step if self._settings.metric else self._state.step

    def _kept_metrics(self) -> Mapping[str, float]:
        return self._state.best_metrics if self._settings.metric else self._state.metrics

    def _draw(self, kept_step: int) -> None:
        rows = read_log(self._folder / LOG)
        write_text(self._folder / CURVES, curves(rows, str(self._identity.facts["name"]), kept_step))

    def _write_provenance(self) -> None:
        if not self._processes.first:
            return
        state, (head, changed) = self._state, commit_of()
        provenance = Provenance(
            task=self._identity.facts,
            settings=self._identity.settings,
            seed=self._settings.seed,
            parameters=sum(parameter.numel() for parameter in self._model.parameters()),
            trained_parameters=sum(parameter.numel() for parameter in self._learning),
            commit=head,
            uncommitted_changes=changed,
            versions=versions(),
            device=device_name(self._device),
            processes=self._processes.count,
            finished=state.finished,
            steps=state.step,
            epochs=self._epochs_done(),
            examples=state.examples,
            duration_seconds=round(state.seconds, 3),
            kept_step=self._kept_step() if state.finished else None,
            metrics=self._kept_metrics(),
        )
        write_provenance(self._folder / PROVENANCE, provenance)

    # Time.

    def _epochs_done(self) -> float:
        done = self._state.position
        return self._state.epoch + (done / len(self._current_batches()) if done else 0.0)

    def _since_mark(self) -> tuple[float, int, int]:
        """Seconds, steps and examples since the last report."""
        then, step, examples = self._mark
        return max(1e-9, time.monotonic() - then), self._state.step - step, self._state.examples - examples

    def _seconds_left(self) -> float:
        then, step, _ = self._own_start
        made = self._state.step - step
        return (time.monotonic() - then) / made * (self._steps - self._state.step) if made else 0.0


def _as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as JSON gives it back, so that what was saved compares equal to what was meant."""
    read: dict[str, Any] = json.loads(json.dumps(value))
    return read
