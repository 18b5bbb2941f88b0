"""The reader's network as a student: what it learns from a teacher beside gold."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import NEVER, EncoderSettings, initialise
from wherefrom.networks.spans import (
    HeadSettings,
    ReaderNetwork,
    ReaderOutput,
    group_normaliser,
    has_any,
    masked_mean,
    no_answer_slot,
)


class Pupil(ReaderNetwork):
    """A reader that also learns its teacher's states: a map a layer pair, used in training alone."""

    def __init__(
        self,
        settings: EncoderSettings,
        heads: HeadSettings | None,
        teacher: EncoderSettings,
        pairs: Sequence[tuple[int, int]],
    ) -> None:
        """`pairs` are (own state, teacher's state), counted from 0 for what goes into the first layer."""
        super().__init__(settings, heads)
        for own, other in pairs:
            if not (0 <= own <= settings.layers and 0 <= other <= teacher.layers):
                raise SettingsError(
                    f"state {own} of {settings.layers} cannot learn from state {other} of {teacher.layers}; "
                    "states count from 0, before the first layer, to the number of layers"
                )
        self.pairs = tuple(pairs)
        self.match = nn.ModuleList(nn.Linear(settings.width, teacher.width) for _ in pairs)
        for linear in self.match:
            initialise(linear)


def state_loss(pupil: Pupil, own: Sequence[Tensor], teacher: Sequence[Tensor], mask: Tensor) -> Tensor:
    """How far the pupil's states, mapped to the teacher's width, are from the teacher's.

    The mean over layer pairs, real tokens and dimensions of (map(h) - norm(t))^2, norm being layer normalisation
    without weights, so that every pair and every teacher counts alike (Sun et al. 2019, https://arxiv.org/abs/1908.09355,
    and Jiao et al. 2020, https://arxiv.org/abs/1909.10351, section 3.1, match states likewise).
    mask: (batch, length), true at real tokens.
    """
    weights = mask.to(torch.float32) / mask.sum().clamp(min=1)  # (batch, length)
    total = torch.zeros((), device=mask.device)
    for (mine, theirs), linear in zip(pupil.pairs, pupil.match, strict=True):
        target = functional.layer_norm(teacher[theirs].detach().float(), teacher[theirs].shape[-1:])
        missed = (linear(own[mine]).float() - target).square().mean(dim=-1)  # (batch, length)
        total = total + (missed * weights).sum()
    return total / max(1, len(pupil.pairs))


def distillation_loss(
    student: ReaderOutput,
    teacher: ReaderOutput,
    passage: Tensor,
    group: Tensor,
    groups: int,
    temperature: float = 2.0,
    with_no_answer: bool = True,
    counted: Tensor | None = None,
) -> Tensor:
    """How far the student's starts and ends are from the teacher's, over all passages of a question.

    loss_g = T^2 / 2 [KL(p_start || q_start) + KL(p_end || q_end)],  KL(p || q) = sum_i p_i (log p_i - log q_i)

    with p = softmax(teacher / T) and q = softmax(student / T) over the tokens in `passage` of all passages of the
    question and, `with_no_answer`, the slot. T^2 keeps the gradient's size as T grows (Hinton et al. 2015,
    https://arxiv.org/abs/1503.02531, section 2). Both must have read the same wordpieces in the same places: see
    `token_map`. The mean over questions; no gradient reaches the teacher. passage: (batch, length); group: (batch,);
    counted: (groups,), false for questions that the teacher is not asked about.
    """
    passage = passage.bool()
    slots: tuple[Tensor | None, Tensor | None] = (None, None)
    if with_no_answer:
        slots = (
            no_answer_slot(student.no_answer, group, groups) / temperature,
            no_answer_slot(teacher.no_answer, group, groups).detach() / temperature,
        )
    total = student.start.new_zeros(groups)
    for learned, given in ((student.start, teacher.start), (student.end, teacher.end)):
        total = total + _divergence(
            (learned / temperature).masked_fill(~passage, NEVER),
            (given.detach() / temperature).masked_fill(~passage, NEVER),
            *slots,
            group,
            groups,
        )
    counts = has_any(passage, group, groups)
    return temperature**2 * masked_mean(total / 2, counts if counted is None else counts & counted)


def _divergence(
    learned: Tensor, given: Tensor, learned_slot: Tensor | None, given_slot: Tensor | None, group: Tensor, groups: int
) -> Tensor:
    """KL(softmax(given) || softmax(learned)) of each group, slots included: (groups,)."""
    log_q = group_normaliser(learned, learned_slot, group, groups)  # (groups,)
    log_p = group_normaliser(given, given_slot, group, groups)  # (groups,)
    given = given - log_p[group][:, None]  # (batch, length), log p
    learned = learned - log_q[group][:, None]  # (batch, length), log q
    by_pair = (given.exp() * (given - learned)).sum(dim=1)  # (batch,)
    divergence = by_pair.new_zeros(groups).index_add(0, group, by_pair)  # (groups,)
    if given_slot is not None and learned_slot is not None:
        divergence = divergence + (given_slot - log_p).exp() * ((given_slot - log_p) - (learned_slot - log_q))
    return divergence
