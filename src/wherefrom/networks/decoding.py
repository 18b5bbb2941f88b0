"""Writing an answer: the best token after the other, or the best of several beginnings (beam search).

Works on any network with `begin` and `decode_step`. A beam keeps the `beam` beginnings of highest mean log-likelihood a
token, ended ones among them, as PREAST-QA's section 5.3 does; with a beam of one this is greedy writing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.networks.decoder import Cache
from wherefrom.networks.encoder import NEVER
from wherefrom.networks.pointer import CopySource, Shares, Step, dense, shares
from wherefrom.networks.writer import Memory, WordpieceSettings

Rule = Callable[[Tensor, Step, Sequence[CopySource]], Step]
"""Takes what was written, (rows, tokens so far), and the next step; returns it with 0 where something is forbidden.

Rows are the examples' beginnings in turn, so with a beam of n the rows of example b are n b to n b + n - 1."""


class Writes(Protocol):
    """What decoding asks of a network."""

    def begin(self, memory: Memory) -> Cache: ...

    def decode_step(self, memory: Memory, cache: Cache, token: Tensor) -> tuple[Step, Cache]: ...


@dataclass(frozen=True, slots=True)
class DecodingSettings:
    """How an answer is searched for. The defaults are greedy, as both sources evaluate."""

    beam: int = 1  # PREAST-QA used 5 outside its own domain
    max_tokens: int = 100
    min_tokens: int = 1  # no answer is empty
    block_ngrams: int = 0  # no n tokens in a row come twice; 0: not blocked, as in the sources
    longest_above: float = 0.3  # P(a) from which on the longest good answer is taken, not the likeliest
    margin: float = 0.5  # how far below the likeliest a good answer may be, in nats a token
    provenance: bool = True  # whether shares are noted

    def __post_init__(self) -> None:
        for name in ("beam", "max_tokens"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("min_tokens", "block_ngrams", "margin"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 0")


@dataclass(frozen=True, slots=True)
class BeamAnswer:
    """An answer and where each of its tokens came from."""

    tokens: tuple[int, ...]  # without style and [end]
    score: float  # mean log-likelihood of a token, [end] included
    ended: bool  # false where it was cut at max_tokens
    shares: Shares | None  # vocabulary: (tokens,); copied: (tokens, places of the source)


def write(
    network: Writes,
    memory: Memory,
    style: Tensor,
    words: WordpieceSettings,
    settings: DecodingSettings | None = None,
    rules: Sequence[Rule] = (),
) -> list[BeamAnswer]:
    """One answer an example; style: (batch,), the token that each begins with."""
    settings = settings or DecodingSettings()
    by_example = beams(network, memory, style, words, settings, rules)
    probability = torch.sigmoid(memory.answerable).tolist()
    return [chosen(answers, p, settings) for answers, p in zip(by_example, probability, strict=True)]


def chosen(answers: Sequence[BeamAnswer], answerable: float, settings: DecodingSettings) -> BeamAnswer:
    """The likeliest answer; or the longest within a margin of it where P(a) is high enough (PREAST-QA 5.3).

    Answers that were cut count only if none ended.
    """
    whole = [answer for answer in answers if answer.ended] or list(answers)
    best = max(whole, key=lambda answer: answer.score)
    if answerable <= settings.longest_above:
        return best
    good = [answer for answer in whole if answer.score >= best.score - settings.margin]
    return max(good, key=lambda answer: (len(answer.tokens), answer.score))


@torch.no_grad()
def beams(
    network: Writes,
    memory: Memory,
    style: Tensor,
    words: WordpieceSettings,
    settings: DecodingSettings,
    rules: Sequence[Rule] = (),
) -> list[list[BeamAnswer]]:
    """The best answers of each example, likeliest first. Ties go to the lower token and the earlier beginning."""
    examples, beam = len(style), settings.beam
    rows = torch.arange(examples, device=style.device).repeat_interleave(beam)
    cache = network.begin(memory)
    if beam > 1:
        memory, cache = memory.rows(rows), cache.rows(rows)
    search = _Search(examples, words, settings, style.device)
    token = style[rows]
    for _ in range(settings.max_tokens):
        step, cache = network.decode_step(memory, cache, token)
        for rule in rules:
            step = rule(search.written, step, memory.sources)
        token, parent = search.advance(step, memory.sources)
        if search.over:
            break
        if beam > 1:
            cache = cache.reordered(parent)
    return search.answers()


class _Search:
    """The beginnings under way: `beam` rows for each example."""

    def __init__(
        self, examples: int, words: WordpieceSettings, settings: DecodingSettings, device: torch.device
    ) -> None:
        rows = examples * settings.beam
        self._examples, self._words, self._settings = examples, words, settings
        self._forbidden = torch.tensor([words.padding, words.classify, *words.styles.values()], device=device)
        self.written = torch.zeros(rows, 0, dtype=torch.long, device=device)
        self._total = torch.zeros(examples, settings.beam, device=device)
        self._total[:, 1:] = 2 * NEVER * settings.max_tokens  # all beginnings are equal at first: only one counts
        self._length = torch.zeros(examples, settings.beam, device=device)
        self._ended = torch.zeros(rows, dtype=torch.bool, device=device)
        self._history: list[tuple[Tensor, Shares | None]] = []  # of each step: whose continuation a row is, its shares

    @property
    def over(self) -> bool:
        """Whether every beginning has ended."""
        return bool(self._ended.all())

    def advance(self, step: Step, sources: Sequence[CopySource]) -> tuple[Tensor, Tensor]:
        """Take the best continuations; returns their tokens and which row each continues: (rows,) both."""
        probability = self._admitted(dense(step, sources))  # (rows, words)
        some = probability > 0
        gain = torch.where(some, torch.where(some, probability, 1.0).log(), NEVER)
        gain = torch.where(self._ended[:, None], self._only_end(gain), gain)
        total = self._total[:, :, None] + gain.view(self._examples, self._settings.beam, -1)
        length = self._length + (~self._ended).view(self._examples, -1)  # (examples, beam)
        beam, words = self._settings.beam, total.shape[-1]
        order = (total / length[:, :, None]).flatten(1).topk(beam, dim=1).indices  # (examples, beam)
        first = torch.arange(self._examples, device=order.device)[:, None] * beam
        parent = (first + order // words).flatten()  # (rows,)
        token = (order % words).flatten()
        self._total = total.flatten(1).gather(1, order)
        self._length = length.gather(1, order // words)
        self._history.append((parent, self._shares(step, sources, parent, token)))
        self.written = torch.cat([self.written[parent], token[:, None]], dim=1)
        self._ended = self._ended[parent] | (token == self._words.end)
        return token, parent

    def _admitted(self, probability: Tensor) -> Tensor:
        """Without what may not follow; where that leaves nothing, repeats are let in, then the end."""
        probability = probability.index_fill(1, self._forbidden, 0.0)
        if (count := self.written.shape[1]) < self._settings.min_tokens:
            probability = probability.index_fill(1, torch.tensor([self._words.end], device=probability.device), 0.0)
        if (n := self._settings.block_ngrams) and count >= n:
            fresh = probability.masked_fill(repeats(self.written, n, probability.shape[1]), 0.0)
            probability = torch.where((fresh > 0).any(dim=1, keepdim=True), fresh, probability)
        nothing = ~(probability > 0).any(dim=1, keepdim=True)
        return torch.where(nothing, self._only_end(probability).exp(), probability)

    def _only_end(self, like: Tensor) -> Tensor:
        """log of a distribution that has [end] alone."""
        place = torch.arange(like.shape[1], device=like.device)
        return torch.where(place == self._words.end, 0.0, NEVER).to(like).expand_as(like)

    def _shares(self, step: Step, sources: Sequence[CopySource], parent: Tensor, token: Tensor) -> Shares | None:
        if not self._settings.provenance:
            return None
        # Rows of one example share their sources, so only the step changes rows.
        return shares(Step(step.vocabulary[parent], tuple(part[parent] for part in step.copied)), sources, token)

    def answers(self) -> list[list[BeamAnswer]]:
        """What was written, example by example, likeliest first."""
        beam = self._settings.beam
        score = self._total / self._length.clamp(min=1)  # (examples, beam), highest first
        possible = self._total > NEVER / 2  # a beam may be wider than there are answers
        possible[:, 0] = True
        return [
            [
                self._answer(example * beam + place, float(score[example, place]))
                for place in range(beam)
                if possible[example, place]
            ]
            for example in range(self._examples)
        ]

    def _answer(self, row: int, score: float) -> BeamAnswer:
        tokens = self.written[row].tolist()
        ended = self._words.end in tokens
        length = tokens.index(self._words.end) if ended else len(tokens)
        path: list[tuple[int, Shares]] = []
        for parent, step_shares in reversed(self._history):
            if step_shares is not None:
                path.append((row, step_shares))
            row = int(parent[row])
        return BeamAnswer(tuple(tokens[:length]), score, ended, _stacked(path[::-1][:length]))


def _stacked(steps: Sequence[tuple[int, Shares]]) -> Shares | None:
    """The shares of one row, step after step: (tokens,) and (tokens, places)."""
    if not steps:
        return None
    vocabulary = torch.stack([each.vocabulary[row] for row, each in steps]).cpu()
    sources = range(len(steps[0][1].copied))
    return Shares(vocabulary, tuple(torch.stack([each.copied[s][row] for row, each in steps]).cpu() for s in sources))


def repeats(written: Tensor, n: int, words: int) -> Tensor:
    """Which tokens would repeat an n-gram of what was written: (rows, tokens), at least n, to (rows, words)."""
    grams = written.unfold(1, n, 1)  # (rows, tokens - n + 1, n)
    tail = written[:, written.shape[1] - n + 1 :]  # (rows, n - 1)
    same = (grams[:, :, :-1] == tail[:, None]).all(dim=-1)  # (rows, grams): all of them where n is 1
    counts = torch.zeros(len(written), words, dtype=torch.int, device=written.device)
    return counts.scatter_add(1, grams[:, :, -1], same.int()) > 0
