"""A network that reads out spans: reads a question with one passage, says whether it answers and where.

Beside the network stand the losses it is trained with, each a pure function with its formula. They share one layout:
a batch is a list of (question, passage) pairs, and `group` says which question each pair belongs to, 0 to groups - 1.
A question may have any number of passages from one up, in any order. The scores of all passages of a question are
normalised together (Clark and Gardner 2018, https://arxiv.org/abs/1710.10723, section 3.3), so that they can be
compared at run time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.errors import SettingsError, WherefromError
from wherefrom.networks.encoder import NEVER, Encoder, EncoderSettings, initialise


@dataclass(frozen=True, slots=True)
class HeadSettings:
    """The heads on top of the encoder."""

    inner: int = 256  # width inside the relevance head
    dropout: float = 0.1  # in front of the heads

    def __post_init__(self) -> None:
        if self.inner < 1:
            raise SettingsError(f"heads.inner is {self.inner}; it must be at least 1")
        if not 0 <= self.dropout < 1:
            raise SettingsError(f"heads.dropout is {self.dropout}; it must be from 0 up to, not including, 1")


class ReaderOutput(NamedTuple):
    """Logits, always of float32. Outside the passage `start` and `end` are NEVER."""

    relevance: Tensor  # (batch,)
    start: Tensor  # (batch, length)
    end: Tensor  # (batch, length)
    no_answer: Tensor  # (batch,)
    truth: Tensor  # (batch,): above 0 where the passage says yes to a question that asks for yes or no


class ReaderNetwork(nn.Module):
    """An encoder with heads: relevance, no-answer and truth from the first token, start and end from every token."""

    def __init__(self, settings: EncoderSettings, heads: HeadSettings | None = None) -> None:
        super().__init__()
        self.heads = heads or HeadSettings()
        self.encoder = Encoder(settings)
        self.dropout = nn.Dropout(self.heads.dropout)
        self.relevance_inner = nn.Linear(settings.width, self.heads.inner)
        self.relevance = nn.Linear(self.heads.inner, 1)
        self.no_answer = nn.Linear(settings.width, 1)
        self.truth_inner = nn.Linear(settings.width, self.heads.inner)
        self.truth = nn.Linear(self.heads.inner, 1)
        self.span = nn.Linear(settings.width, 2)
        for head in (self.relevance_inner, self.relevance, self.no_answer, self.truth_inner, self.truth, self.span):
            initialise(head)

    def forward(self, tokens: Tensor, mask: Tensor, passage: Tensor, types: Tensor | None = None) -> ReaderOutput:
        """Read `[CLS] question [SEP] passage [SEP]`, padded on the right.

        tokens   (batch, length)  token ids
        mask     (batch, length)  true at real tokens
        passage  (batch, length)  true at the passage's tokens: not its [SEP], not the question
        types    (batch, length)  0 up to the first [SEP], 1 from the passage to its [SEP]; unused where the encoder
                                  has none (MPNet)
        """
        return self.answer(self.encoder(tokens, mask, types), passage)

    def answer(self, hidden: Tensor, passage: Tensor) -> ReaderOutput:
        """The heads on the encoder's last states, (batch, length, width)."""
        hidden = self.dropout(hidden)
        first = hidden[:, 0]  # (batch, width)
        relevance = self.relevance(self.dropout(torch.tanh(self.relevance_inner(first))))  # (batch, 1)
        truth = self.truth(self.dropout(torch.tanh(self.truth_inner(first))))  # (batch, 1)
        span = self.span(hidden).float().masked_fill(~passage.bool()[:, :, None], NEVER)  # (batch, length, 2)
        return ReaderOutput(
            relevance=relevance.float().squeeze(-1),
            start=span[:, :, 0],
            end=span[:, :, 1],
            no_answer=self.no_answer(first).float().squeeze(-1),
            truth=truth.float().squeeze(-1),
        )

    def keeping(self, layers: Sequence[int]) -> ReaderNetwork:
        """A copy with these layers of the encoder and the same heads: where a student starts."""
        copy = ReaderNetwork(self.encoder.settings, self.heads)
        copy.load_state_dict(self.state_dict())
        copy.encoder = self.encoder.keeping(layers)
        return copy.to(self.span.weight).train(self.training)


# Normalising over all passages of a question -------------------------------------------------------------------------


def group_log_sum_exp(logits: Tensor, group: Tensor, groups: int) -> Tensor:
    """log of the sum of exp(logits) over the pairs of each group: (batch,) to (groups,); NEVER for an empty group."""
    highest = logits.new_full((groups,), NEVER).scatter_reduce(0, group, logits.detach(), "amax")  # (groups,)
    sums = logits.new_zeros(groups).index_add(0, group, torch.exp(logits - highest[group]))  # (groups,)
    filled = sums > 0
    return torch.where(filled, highest + torch.log(torch.where(filled, sums, 1.0)), NEVER)


def no_answer_slot(no_answer: Tensor, group: Tensor, groups: int) -> Tensor:
    """The logit that no passage of a question answers it: slot = -log sum_p exp(-n_p), (batch,) to (groups,).

    exp(-n) are the odds that a passage answers, and the odds of several passages add up. It is a smooth minimum: one
    passage that answers is enough to rule "no answer" out, however many others do not.
    """
    return -group_log_sum_exp(-no_answer, group, groups)


def group_normaliser(logits: Tensor, slot: Tensor | None, group: Tensor, groups: int) -> Tensor:
    """log Z = log(sum_p sum_t exp(logits[p, t]) + exp(slot)) of each group; logits (batch, length) to (groups,)."""
    total = group_log_sum_exp(torch.logsumexp(logits, dim=1), group, groups)  # (groups,)
    return total if slot is None else torch.logaddexp(total, slot)


# Losses --------------------------------------------------------------------------------------------------------------


def span_loss(
    output: ReaderOutput,
    gold_start: Tensor,
    gold_end: Tensor,
    group: Tensor,
    groups: int,
    with_no_answer: bool = True,
    counted: Tensor | None = None,
) -> Tensor:
    """How improbable the gold starts and ends are, with one softmax over all passages of a question.

    loss_g = -1/2 [log sum_{gold starts} exp(s) - log Z_start  +  log sum_{gold ends} exp(e) - log Z_end]

    where Z sums over every token of every passage of the question and, `with_no_answer`, the no-answer slot. The sums
    over several gold positions are the marginal likelihood: one of them found is enough. A question without gold has
    the slot as its gold; without a slot it is left out. The mean over the questions that count; 0 if there are none.

    gold_start, gold_end: (batch, length), true at gold positions, inside the passage. group: (batch,). counted:
    (groups,), false for questions whose answer is no span, such as yes.
    For one passage a question, `group` is `torch.arange(batch)`.
    """
    slot = no_answer_slot(output.no_answer, group, groups) if with_no_answer else None  # (groups,)
    start = _position_loss(output.start, gold_start.bool(), slot, group, groups)  # (groups,)
    end = _position_loss(output.end, gold_end.bool(), slot, group, groups)  # (groups,)
    counts = torch.ones_like(start, dtype=torch.bool) if with_no_answer else has_any(gold_start, group, groups)
    return masked_mean((start + end) / 2, counts if counted is None else counts & counted)


def _position_loss(logits: Tensor, gold: Tensor, slot: Tensor | None, group: Tensor, groups: int) -> Tensor:
    """log Z - log sum_{gold} exp(logits) of each group; the slot is the gold of a group without: (groups,)."""
    of_gold = torch.logsumexp(logits.masked_fill(~gold, NEVER), dim=1)  # (batch,)
    gold_total = group_log_sum_exp(of_gold, group, groups)  # (groups,)
    if slot is not None:
        gold_total = torch.where(has_any(gold, group, groups), gold_total, slot)
    return group_normaliser(logits, slot, group, groups) - gold_total


def has_any(gold: Tensor, group: Tensor, groups: int) -> Tensor:
    """Which groups have a gold position, or a gold pair: (batch, ...) to (groups,)."""
    count = gold.bool().flatten(1).sum(dim=1) if gold.dim() > 1 else gold.bool().long()  # (batch,)
    return torch.zeros(groups, dtype=count.dtype, device=gold.device).index_add(0, group, count) > 0


def masked_mean(values: Tensor, counts: Tensor) -> Tensor:
    """The mean of `values` where `counts` is true; 0 where it is true nowhere."""
    return torch.where(counts, values, 0.0).sum() / counts.sum().clamp(min=1)


def truth_loss(truth: Tensor, target: Tensor, decided: Tensor) -> Tensor:
    """-[y log sigma(t) + (1 - y) log(1 - sigma(t))], the mean over the pairs that are decided so; all (batch,)."""
    missed = functional.binary_cross_entropy_with_logits(truth, target.float().clamp(0, 1), reduction="none")
    return masked_mean(missed, decided)


def relevance_loss(
    relevance: Tensor,
    gold: Tensor,
    group: Tensor,
    groups: int,
    form: Literal["point", "list"] = "point",
    counted: Tensor | None = None,
) -> Tensor:
    """How badly the relevance logits tell passages that answer from those that do not.

    point: mean over pairs of -[y log sigma(r) + (1 - y) log(1 - sigma(r))]; y may be a teacher's probability.
    list:  mean over questions of -1/|R| sum_{p in R} log softmax_g(r)_p, R being the relevant passages of the question
           (ListNet's top-one loss, Cao et al. 2007, with equal shares); questions without any are left out.

    relevance, gold, group: (batch,). Use "point" where the value itself must mean something (a judge reads it), "list"
    where only the order counts. counted: (batch,), false for pairs that do not count; for "point" only.
    """
    gold = gold.float()
    if form == "point":
        missed = functional.binary_cross_entropy_with_logits(relevance, gold, reduction="none")
        return missed.mean() if counted is None else masked_mean(missed, counted)
    normaliser = group_log_sum_exp(relevance, group, groups)  # (groups,)
    relevant = gold.new_zeros(groups).index_add(0, group, gold)  # (groups,): |R|
    misses = gold * (normaliser[group] - relevance)  # (batch,)
    summed = misses.new_zeros(groups).index_add(0, group, misses)  # (groups,)
    return masked_mean(summed / relevant.clamp(min=1), relevant > 0)


# Reading off the answer ----------------------------------------------------------------------------------------------


class Spans(NamedTuple):
    """The best spans of each pair, best first; `end` is the last token, inclusive."""

    score: Tensor  # (batch, n): start logit + end logit; near 2 * NEVER or NEVER where there is no such span
    start: Tensor  # (batch, n)
    end: Tensor  # (batch, n)


def best_spans(start: Tensor, end: Tensor, max_tokens: int, n: int) -> Spans:
    """The `n` spans of at most `max_tokens` tokens with the highest start + end logits.

    start, end: (batch, length), NEVER outside the passage. Ties go to the earlier start, then to the shorter span.
    Where `length * max_tokens` is below `n`, there are only as many.
    """
    batch, _ = start.shape
    after = functional.pad(end, (0, max_tokens - 1), value=2 * NEVER)  # (batch, length + max_tokens - 1)
    scores = start[:, :, None] + after.unfold(1, max_tokens, 1)  # (batch, length, max_tokens): start, extra tokens
    score, place = scores.reshape(batch, -1).sort(dim=1, descending=True, stable=True)
    score, place = score[:, :n], place[:, :n]  # (batch, n)
    first = place // max_tokens
    return Spans(score, first, first + place % max_tokens)


# A teacher and a student with the same wordpieces --------------------------------------------------------------------

SPECIAL_TWINS = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[MASK]": "<mask>"}
"""BERT's special tokens in MPNet's words. [UNK] is the same in both; MPNet never uses its own copies of the others."""


def token_map(student: Mapping[str, int], teacher: Mapping[str, int]) -> Tensor:
    """For each of the student's token ids the teacher's id of the same token: (words of the student,).

    `token_map(...)[tokens]` lets the teacher read exactly what the student reads, token by token, so that its logits
    are targets for the student without any alignment. Arguments are vocabularies, token to id. MPNet's vocabulary is
    BERT's moved up by 4, behind <s> <pad> </s> <unk>, with <mask> last. When MPNet reads a pair by itself it puts
    </s></s> between question and passage; through this map it gets one, as BERT does.
    """
    mapped = torch.full((max(student.values()) + 1,), -1, dtype=torch.long)
    for token, place in student.items():
        twin = SPECIAL_TWINS.get(token, token)
        mapped[place] = teacher.get(twin, teacher.get(token, -1))
    if lost := [token for token, place in student.items() if mapped[place] < 0]:
        raise WherefromError(
            f"the teacher's vocabulary lacks {len(lost)} of the student's {len(student)} tokens, such as {lost[0]!r}; "
            "a teacher and a student must share their wordpieces"
        )
    return mapped
