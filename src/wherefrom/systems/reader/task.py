"""The reader's training: questions over gold and hard negative passages, from gold alone or from a teacher too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy
import torch
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.networks.encoder import Encoder, EncoderSettings, load_pretrained
from wherefrom.networks.spans import (
    HeadSettings,
    ReaderNetwork,
    ReaderOutput,
    best_spans,
    has_any,
    relevance_loss,
    span_loss,
    truth_loss,
)
from wherefrom.origin import file_hash
from wherefrom.systems.reader.network import Pupil, distillation_loss, state_loss
from wherefrom.train.batching import LazyBatches, bucketed, moved
from wherefrom.train.checkpoint import load_weights
from wherefrom.train.encoders import Teacher
from wherefrom.train.material import SOURCES, Material, Numbers, Pairs, Sequences, assembled, ranges
from wherefrom.train.seeds import seed_of
from wherefrom.train.task import TaskFacts

_ALIGNED = 8  # lengths are multiples of it: attention's fast kernels want that


@dataclass(frozen=True, slots=True)
class ReaderTaskSettings:
    """What the reader sees and what it is asked for."""

    negatives: int = 2  # hard passages beside the gold one; more teach ranking, fewer leave time for reading
    max_tokens: int = 384  # question, title and passage; longer paragraphs lose their tail in training
    max_question: int = 64
    tokens: int = 32_768  # of a microbatch, padding included
    # Of a source's examples, those that an epoch shows: 0.5 half of them, 2 each twice; 1 where none is named.
    shares: Mapping[str, float] = field(default_factory=lambda: {"ten-passages": 0.5})
    title_dropout: float = 0.3  # many documents have no title
    relevance: float = 0.5  # weight of the relevance losses beside the span loss
    truth: float = 0.5  # weight of the loss of yes or no
    distillation: float = 0.0  # weight of the teacher's starts and ends; 0 trains on gold alone
    taught: tuple[str, ...] = ()  # sources on which the teacher is listened to; () all
    temperature: float = 2.0  # of the teacher: 1.5 to 2 shows its second guesses
    states: float = 0.0  # weight of matching the teacher's hidden states
    state_pairs: tuple[tuple[int, int], ...] = ((2, 4), (4, 8), (6, 12))  # (own, teacher's), 0 before the first layer
    noise: float = 0.0  # of the questions, whose pairs are shown with tokens replaced: the teacher says what is left
    noise_tokens: float = 0.1  # of such a pair's tokens, half by [MASK], half by tokens drawn from all passages
    dropout: float | None = None  # in the encoder; None keeps what it was pretrained with
    layers: tuple[int, ...] = ()  # of the encoder it starts from, in this order; twice is deeper; () all, as they are
    fused: bool = False  # compile the layers into fewer kernels; pays on a GPU, after half a minute of compiling
    classify: int = 101  # [CLS]
    separate: int = 102  # [SEP]
    padding: int = 0  # [PAD]
    masked: int = 103  # [MASK]
    valid_paragraphs: int = 2000
    valid_questions: int = 600

    def __post_init__(self) -> None:
        if self.negatives < 0 or self.max_tokens < 16 or not 0.0 <= self.title_dropout <= 1.0:
            raise SettingsError("reader: negatives, max_tokens and title_dropout make no sense together")
        if not 0.0 <= self.noise <= 1.0 or not 0.0 <= self.noise_tokens <= 1.0:
            raise SettingsError("reader.noise and reader.noise_tokens are shares, from 0 to 1")
        for source in self.taught:
            if source not in SOURCES:
                raise SettingsError(f"reader.taught knows no source {source!r}; there are {', '.join(SOURCES)}")
        for source, share in self.shares.items():
            if share < 0:
                raise SettingsError(f"reader.shares: {source} is {share}; it must be 0 or above")
            if source not in SOURCES:
                raise SettingsError(f"reader.shares knows no source {source!r}; there are {', '.join(SOURCES)}")

    def encoder(self, start: EncoderSettings) -> EncoderSettings:
        """The encoder that is trained: as deep as `layers` says."""
        return replace(start, layers=len(self.layers)) if self.layers else start


@dataclass(frozen=True, slots=True)
class _Plan:
    """Pairs of an epoch, question by question; the gold passage of a question comes first."""

    example: Numbers  # (pairs,)
    passage: Numbers  # (pairs,)
    relevant: Numbers  # (pairs,)
    until: Numbers  # (questions + 1,): the pairs of question q are until[q] to until[q + 1]
    titled: Numbers  # (questions,): whether titles are shown


def noisy(sequences: Sequences, batch: Pairs, drawn_from: Tensor, settings: ReaderTaskSettings) -> Sequences:
    """Some questions' pairs with some of their tokens replaced; teacher and student read the same.

    What a teacher makes of inputs that nobody wrote says more about it than the same inputs again (Beyer et al. 2022,
    https://arxiv.org/abs/2106.05237). Gold answers stay the goal; separators and [CLS] stay as they are.
    """
    tokens = sequences.tokens
    chosen = torch.rand(batch.groups, device=tokens.device) < settings.noise  # (groups,)
    chance = torch.rand(tokens.shape, device=tokens.device)
    special = (tokens == settings.classify) | (tokens == settings.separate) | ~sequences.mask
    other = drawn_from[torch.randint(len(drawn_from), tokens.shape, device=tokens.device)].long()
    replaced = torch.where(chance < settings.noise_tokens / 2, settings.masked, other)
    changed = chosen[batch.group][:, None] & (chance < settings.noise_tokens) & ~special
    return replace(sequences, tokens=torch.where(changed, replaced, tokens))


class ReaderTask:
    """Trains a `ReaderNetwork`; with a teacher, on its opinions too."""

    def __init__(
        self,
        material: Path,
        encoder: EncoderSettings,
        pretrained: Path | None,
        settings: ReaderTaskSettings | None = None,
        teacher: Teacher | None = None,
        heads: HeadSettings | None = None,
        tokens: Tensor | None = None,
        start: Path | None = None,
        beside: Sequence[Path] = (),
    ) -> None:
        """`tokens` map the material's token ids to the encoder's; None where they are the same.

        `start` holds a trained reader with `encoder`'s layers, to go on from in place of a pretrained encoder; `beside`
        is further material.
        """
        self.settings = settings or ReaderTaskSettings()
        self._material = Material(material, *beside)
        self._lengths = {name: self._material.lengths(name) for name in ("question", "title", "passage")}
        self._encoder = encoder
        self._heads = heads
        self._pretrained = pretrained
        self._start = start
        self._teacher = teacher
        self._tokens = tokens
        self._device = torch.device("cpu")  # where the teacher and the token maps are
        if teacher is None and (self.settings.distillation or self.settings.states):
            raise SettingsError("reader.distillation and reader.states need a teacher")
        if self.settings.dropout is not None:
            dropout = self.settings.dropout
            self._encoder = replace(encoder, dropout=dropout, attention_dropout=dropout)
        if teacher is not None:
            teacher.network.eval()
            if self.settings.fused:
                teacher.network.encoder.fuse()

    def facts(self) -> TaskFacts:
        data = {path.name: file_hash(path) for path in self._material.paths}
        if self._teacher is not None:
            data["teacher"] = self._teacher.sha256
        if self._start is not None:
            data["start"] = file_hash(self._start)
        return TaskFacts("reader", data, asdict(self.settings))

    def model(self) -> ReaderNetwork:
        encoder = self.settings.encoder(self._encoder)
        network = ReaderNetwork(encoder, self._heads)
        if self.settings.states and self._teacher is not None:
            teacher = self._teacher.network.encoder.settings
            network = Pupil(encoder, self._heads, teacher, self.settings.state_pairs)
        layers = self.settings.layers or range(self._encoder.layers)
        if self._start is not None:
            trained = ReaderNetwork(self._encoder, self._heads)
            load_weights(trained, self._start, without=("match.",), lacking=("truth",))
            network.load_state_dict(
                {**_maps(network, self._start), **trained.keeping(layers).state_dict()}, strict=False
            )
        elif self._pretrained is not None:
            published = Encoder(self._encoder)
            load_pretrained(published, self._pretrained)
            network.encoder.load_state_dict(published.keeping(layers).state_dict())
        if self.settings.fused:
            network.encoder.fuse()
        return network

    def size(self, batch: Pairs) -> int:
        return batch.groups

    def batches(self, epoch: int, seed: int) -> LazyBatches[Pairs]:
        chance = numpy.random.default_rng(seed_of("reader", seed, epoch))
        valid, source = self._material.column("valid"), self._material.column("source")
        shares = numpy.array([self.settings.shares.get(name, 1.0) for name in SOURCES])
        drawn = chance.random(len(valid)) < shares[source] % 1.0
        times = numpy.where(valid == 0, shares[source].astype(int) + drawn, 0)
        chosen = numpy.repeat(numpy.arange(len(valid)), times)
        plan = self._drawn(chosen, chance)
        longest = numpy.maximum.reduceat(self._pair_lengths(plan), plan.until[:-1])
        pieces = numpy.diff(plan.until).tolist()
        cut = bucketed(longest.tolist(), epoch=epoch, seed=seed, tokens=self.settings.tokens, pieces=pieces)
        return LazyBatches(cut, lambda places: self._pairs(plan, numpy.array(places)))

    def loss(self, model: ReaderNetwork, batch: Pairs) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        settings = self.settings
        self._move(batch.question.device)
        material = self._material.on(batch.question.device)
        sequences = assembled(material, batch, settings)
        if settings.noise and model.training:
            sequences = noisy(sequences, batch, material["passage_tokens"], settings)
        states, output = self._read(model, sequences, self._tokens)
        starts, ends = _gold_masks(batch, sequences)
        decided = torch.zeros_like(batch.relevant) if batch.truth is None else batch.truth >= 0  # by yes or no
        spanned = ~has_any(decided, batch.group, batch.groups)
        span = span_loss(output, starts, ends, batch.group, batch.groups, counted=spanned)
        point = relevance_loss(output.relevance, batch.relevant, batch.group, batch.groups, "point")
        order = relevance_loss(output.relevance, batch.relevant, batch.group, batch.groups, "list")
        total = span + settings.relevance * (point + order)
        parts: dict[str, Tensor | float] = {"span": span.detach(), "relevance": (point + order).detach()}
        if batch.truth is not None:
            truth = truth_loss(output.truth, batch.truth, decided)
            total = total + settings.truth * truth
            parts["truth"] = truth.detach()
        if self._teacher is None:
            return total, parts
        with torch.no_grad():
            taught_states, taught = self._read(self._teacher.network, sequences, self._teacher.tokens)
        if settings.distillation:
            heard = batch.taught if settings.taught else None
            learned = distillation_loss(
                output, taught, sequences.passage, batch.group, batch.groups, settings.temperature, counted=heard
            )
            pairs = None if heard is None else heard[batch.group]
            opinion = torch.sigmoid(taught.relevance)
            soft = relevance_loss(output.relevance, opinion, batch.group, batch.groups, "point", pairs)
            soft_truth = truth_loss(
                output.truth, torch.sigmoid(taught.truth), decided if pairs is None else decided & pairs
            )
            total = total + settings.distillation * (learned + settings.relevance * soft + settings.truth * soft_truth)
            parts |= {"distillation": learned.detach(), "soft relevance": soft.detach()}
        if isinstance(model, Pupil):
            matched = state_loss(model, states, taught_states, sequences.mask)
            total = total + settings.states * matched
            parts["states"] = matched.detach()
        return total, parts

    def evaluate(self, model: ReaderNetwork) -> Mapping[str, float]:
        """Token-level exact match and F1 on whole paragraphs; on ten passages, whether the gold one comes first."""
        device = next(model.parameters()).device
        self._move(device)
        valid, answerable = self._material.column("valid") == 1, self._material.column("gold") >= 0

        def held_out(source: str, most: int) -> list[int]:
            chosen: list[int] = numpy.flatnonzero(valid & answerable & self._material.of_source(source)).tolist()
            return evenly_spread(chosen, most)

        exact, overlap = self._span_scores(model, held_out("squad", self.settings.valid_paragraphs), device)
        first = self._gold_first(model, held_out("ten-passages", self.settings.valid_questions), device)
        metrics = {"em": 100 * exact, "f1": 100 * overlap, "p_1": 100 * first, "score": 100 * overlap + 20 * first}
        manuals = [number for number in held_out("manuals", 2**31) if self._material.spans(number)]
        if manuals:
            exact, overlap = self._span_scores(model, evenly_spread(manuals, self.settings.valid_paragraphs), device)
            first = self._gold_first(model, evenly_spread(manuals, self.settings.valid_questions), device)
            metrics |= {"manuals em": 100 * exact, "manuals f1": 100 * overlap, "manuals p_1": 100 * first}
        return {**metrics, **self._judged(model, device)}

    def _judged(self, model: ReaderNetwork, device: torch.device) -> dict[str, float]:
        """How well held-out questions are told apart from near misses, and how often yes or no is right."""
        if "truth" not in self._material.names:
            return {}
        valid, truth = self._material.column("valid") == 1, self._material.column("truth")
        there, most = self._material.column("gold") >= 0, self.settings.valid_paragraphs

        def chosen(wanted: Numbers, source: str) -> list[int]:
            return evenly_spread(numpy.flatnonzero(wanted & valid & self._material.of_source(source)).tolist(), most)

        metrics: dict[str, float] = {}
        for source in ("near-miss", "subjqa", "people", "manuals"):
            missing = chosen(~there, source)
            answered = chosen(there & (truth < 0), "squad" if source == "near-miss" else source)
            if missing and answered:
                margins = [self._outputs(model, numbers, device, _margin) for numbers in (answered, missing)]
                metrics[f"auc {source}"] = _area(*margins)
        for source in ("boolq", "manuals"):
            if decided := chosen(truth >= 0, source):
                verdicts = self._outputs(model, decided, device, lambda output: output.truth)
                metrics[f"yes_no {source}"] = 100 * float(((verdicts > 0) == (truth[decided] == 1)).mean())
        return metrics

    def _outputs(
        self, model: ReaderNetwork, numbers: Sequence[int], device: torch.device, of: Callable[[ReaderOutput], Tensor]
    ) -> Numbers:
        """A number for each example over its own passage."""
        gold = self._material.column("gold").tolist()
        values: list[float] = []
        for begin in range(0, len(numbers), 64):
            batch = [
                (n, [gold[n] if gold[n] >= 0 else self._material.others(n)[0]]) for n in numbers[begin : begin + 64]
            ]
            pairs = moved(self._given(batch), device)
            sequences = assembled(self._material.on(device), pairs, self.settings)
            values += of(self._read(model, sequences, self._tokens)[1]).tolist()
        return numpy.array(values)

    # Inside.

    def _move(self, device: torch.device) -> None:
        """The teacher and the token maps go where the microbatches are."""
        if device != self._device:
            self._device = device
            self._teacher = self._teacher.to(device) if self._teacher is not None else None
            self._tokens = self._tokens.to(device) if self._tokens is not None else None

    def _read(
        self, network: ReaderNetwork, sequences: Sequences, tokens: Tensor | None
    ) -> tuple[list[Tensor], ReaderOutput]:
        ids = sequences.tokens if tokens is None else tokens[sequences.tokens]
        states = network.encoder.states(ids, sequences.mask, sequences.types)
        return states, network.answer(states[-1], sequences.passage)

    def _drawn(self, chosen: Numbers, chance: numpy.random.Generator) -> _Plan:
        """The chosen examples with some of their hard passages, drawn anew each epoch."""
        until, others = self._material.column("others_until"), self._material.column("others")
        gold = self._material.column("gold")[chosen]
        counts = numpy.diff(until)[chosen]
        place = numpy.repeat(numpy.arange(len(chosen)), counts)  # which chosen example a hard passage belongs to
        hard = others[ranges(until[:-1][chosen], counts)]
        mixed = numpy.lexsort((chance.random(len(place)), place))
        wanted = self.settings.negatives + (gold < 0)
        drawn = numpy.arange(len(place)) - numpy.repeat(numpy.cumsum(counts) - counts, counts) < wanted[place]
        hard, place = hard[mixed][drawn], place[drawn]  # `place` is sorted, so `mixed` leaves it as it is
        return self._plan(
            chosen,
            numpy.concatenate([numpy.flatnonzero(gold >= 0), place]),
            numpy.concatenate([gold[gold >= 0], hard]),
            lambda questions: chance.random(questions) >= self.settings.title_dropout,
        )

    def _plan(self, examples: Numbers, place: Numbers, passage: Numbers, titled: Callable[[int], Numbers]) -> _Plan:
        """Pairs in the order of their examples, by `place` among them; examples without any passage are left out."""
        order = numpy.argsort(place, kind="stable")
        place, passage = place[order], passage[order]
        example = examples[place]
        begins = numpy.flatnonzero(numpy.diff(place, prepend=-1))
        return _Plan(
            example=example,
            passage=passage,
            relevant=passage == self._material.column("gold")[example],
            until=numpy.append(begins, len(place)),
            titled=titled(len(begins)),
        )

    def _given(self, groups: Sequence[tuple[int, Sequence[int]]]) -> Pairs:
        """A microbatch of these examples with these passages, titles shown."""
        plan = self._plan(
            numpy.array([number for number, _ in groups]),
            numpy.repeat(numpy.arange(len(groups)), [len(passages) for _, passages in groups]),
            numpy.array([other for _, passages in groups for other in passages]),
            lambda questions: numpy.ones(questions, bool),
        )
        return self._pairs(plan, numpy.arange(len(groups)))

    def _pair_lengths(self, plan: _Plan, pairs: Numbers | None = None) -> Numbers:
        """Tokens of every pair, with its title, at most `max_tokens`."""
        example, passage = (plan.example, plan.passage) if pairs is None else (plan.example[pairs], plan.passage[pairs])
        question = self._lengths["question"][self._material.column("question")[example]]
        title = self._lengths["title"][self._material.column("passage_title")[passage]]
        text = numpy.minimum(question, self.settings.max_question) + title + self._lengths["passage"][passage]
        lengths: Numbers = numpy.minimum(text + 4, self.settings.max_tokens)
        return lengths

    def _pairs(self, plan: _Plan, questions: Numbers) -> Pairs:
        counts = plan.until[questions + 1] - plan.until[questions]
        pairs = ranges(plan.until[questions], counts)
        example, passage, relevant = plan.example[pairs], plan.passage[pairs], plan.relevant[pairs]
        until, spans = self._material.column("spans_until"), self._material.column("spans")
        right = numpy.flatnonzero(relevant)
        golds = until[example[right] + 1] - until[example[right]]
        places = spans[ranges(until[example[right]], golds)]
        longest = int(self._pair_lengths(plan, pairs).max())
        return Pairs(
            question=torch.from_numpy(self._material.column("question")[example].astype(numpy.int64)),
            passage=torch.from_numpy(passage.astype(numpy.int64)),
            titled=torch.from_numpy(numpy.repeat(plan.titled[questions], counts)),
            group=torch.from_numpy(numpy.repeat(numpy.arange(len(questions)), counts)),
            gold=torch.from_numpy(
                numpy.column_stack([numpy.repeat(right, golds), places]).astype(numpy.int64).reshape(-1, 3)
            ),
            relevant=torch.from_numpy(relevant),
            groups=len(questions),
            length=min(-(-longest // _ALIGNED) * _ALIGNED, self.settings.max_tokens),
            truth=self._truths(example, relevant),
            taught=self._taught(plan.example[plan.until[questions]]),
        )

    def _taught(self, example: Numbers) -> Tensor | None:
        """Of which questions the teacher is asked."""
        if not self.settings.taught:
            return None
        wanted = [SOURCES.index(source) for source in self.settings.taught]
        return torch.from_numpy(numpy.isin(self._material.column("source")[example], wanted))

    def _truths(self, example: Numbers, relevant: Numbers) -> Tensor | None:
        """Yes or no for pairs whose passage decides it; none in material that is older than such questions."""
        if "truth" not in self._material.names:
            return None
        return torch.from_numpy(numpy.where(relevant, self._material.column("truth")[example], -1).astype(numpy.int64))

    def _span_scores(self, model: ReaderNetwork, numbers: Sequence[int], device: torch.device) -> tuple[float, float]:
        exact = overlap = 0.0
        gold, lengths = self._material.column("gold").tolist(), self._lengths["passage"].tolist()
        ordered = sorted(numbers, key=lambda number: lengths[gold[number]])
        for begin in range(0, len(ordered), 64):
            batch = ordered[begin : begin + 64]
            pairs = moved(self._given([(number, [gold[number]]) for number in batch]), device)
            sequences = assembled(self._material.on(device), pairs, self.settings)
            _, output = self._read(model, sequences, self._tokens)
            best = best_spans(output.start, output.end, 30, 1)
            starts = (best.start[:, 0] - sequences.first).tolist()
            ends = (best.end[:, 0] - sequences.first).tolist()
            for number, start, end in zip(batch, starts, ends, strict=True):
                right = self._material.spans(number)
                exact += (start, end) in right
                overlap += max(_overlap(start, end, a, b) for a, b in right)
        return exact / max(len(numbers), 1), overlap / max(len(numbers), 1)

    def _gold_first(self, model: ReaderNetwork, numbers: Sequence[int], device: torch.device) -> float:
        right = 0
        gold = self._material.column("gold").tolist()
        for begin in range(0, len(numbers), 16):
            batch = numbers[begin : begin + 16]
            groups = [(number, [gold[number], *self._material.others(number)]) for number in batch]
            pairs = moved(self._given(groups), device)
            sequences = assembled(self._material.on(device), pairs, self.settings)
            relevance = self._read(model, sequences, self._tokens)[1].relevance.tolist()
            at = 0
            for _, passages in groups:
                right += max(relevance[at : at + len(passages)]) == relevance[at]
                at += len(passages)
        return right / max(len(numbers), 1)


def _margin(output: ReaderOutput) -> Tensor:
    """How far the best start and end are above no answer; the logit of no answer alone means nothing."""
    return (output.start.amax(dim=1) + output.end.amax(dim=1)) / 2 - output.no_answer


def _area(right: Numbers, wrong: Numbers) -> float:
    """The chance that one of the right has a higher number than one of the wrong: the area under the ROC curve."""
    order = numpy.argsort(numpy.concatenate([wrong, right]), kind="stable")
    ranks = numpy.empty(len(order))
    ranks[order] = numpy.arange(1, len(order) + 1)
    return float((ranks[len(wrong) :].sum() - len(right) * (len(right) + 1) / 2) / (len(right) * len(wrong)))


def _gold_masks(batch: Pairs, sequences: Sequences) -> tuple[Tensor, Tensor]:
    """True where an answer starts, and where one ends; answers beyond the cut are lost."""
    pair, first, last = batch.gold.unbind(1)
    begin = sequences.first[pair]
    fits = (begin + last < batch.length).float()
    most = batch.length - 1

    def marked(place: Tensor) -> Tensor:  # added up rather than picked out: the device need not be waited for
        count = torch.zeros(sequences.mask.shape, device=fits.device)
        return count.index_put((pair, (begin + place).clamp(max=most)), fits, accumulate=True) > 0

    return marked(first) & sequences.passage, marked(last) & sequences.passage


def _maps(network: ReaderNetwork, start: Path) -> dict[str, Tensor]:
    """An earlier pupil's maps to its teacher's states, where there are as many of the same shape; else none."""
    if not isinstance(network, Pupil):
        return {}
    shapes = {f"match.{name}": value.shape for name, value in network.match.state_dict().items()}
    maps = {name: value for name, value in load_file(start).items() if name.startswith("match.")}
    return maps if {name: value.shape for name, value in maps.items()} == shapes else {}


def _overlap(a: int, b: int, c: int, d: int) -> float:
    """F1 of two token spans, ends included."""
    shared = min(b, d) - max(a, c) + 1
    return 2 * shared / ((b - a + 1) + (d - c + 1)) if shared > 0 else 0.0
