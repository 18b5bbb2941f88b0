"""The writers' training: questions over several passages, answered in one or more styles, and style transfer.

Material comes from `writer_data`, microbatches from `writer_sampling` and `transfer_batches`. One task fits Masque,
PREAST-QA and the joint writer. A joint writer with a source for short answers is also the style transfer of
PREAST-QA: told the answer, it writes the sentence; those examples need no passages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy
import torch
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.evaluate.token_scores import Said, token_scores
from wherefrom.networks.decoding import DecodingSettings, write
from wherefrom.networks.encoder import Encoder, load_pretrained
from wherefrom.networks.masque import JointReader, MasqueNetwork, MasqueSettings, Reading, SeparateReader, Sequences
from wherefrom.networks.masque_settings import WordSettings
from wherefrom.networks.passage_heads import classification_loss, pair_loss, point_loss
from wherefrom.networks.writer import Memory
from wherefrom.origin import file_hash
from wherefrom.train.batching import LazyBatches, moved
from wherefrom.train.checkpoint import saved_layers
from wherefrom.train.task import TaskFacts
from wherefrom.train.writing.batches import (
    Texts,
    WriterBatch,
    WriterBatchSettings,
    decoded,
    joint,
    separate,
    short_answers,
    texts,
)
from wherefrom.train.writing.material import NARRATIVEQA, TEN_PASSAGES, Material, Numbers
from wherefrom.train.writing.sampling import WriterSampler
from wherefrom.train.writing.transfer_batches import TransferBatch, TransferSampler, transferred
from wherefrom.write.marks import Marks, WrittenStyle


@dataclass(frozen=True, slots=True)
class WriterTaskSettings:
    """What a writer sees in training, and what it is measured on meanwhile."""

    batch: WriterBatchSettings = field(default_factory=WriterBatchSettings)
    passages: bool = True  # questions with passages; without them it is style transfer alone
    triples: float = 0.0  # joint: how often an epoch sees each example of style transfer
    triple_tokens: int = 16_384  # of a microbatch of style transfer
    told: float = 0.8  # joint, with answer_source: how often a sentence is told its short answer
    fused: bool = False  # compile the encoder's layers; pays on a GPU
    valid_passages: int = 10  # a question has in validation; with fewer, guesses from the answers would choose them
    valid_short: int = 320
    valid_sentences: int = 320
    valid_narrative: int = 0
    longest: int = 48  # tokens written at most in validation

    def __post_init__(self) -> None:
        if not self.passages and not self.triples:
            raise SettingsError("writer: without passages there must be triples to learn from")
        if not 0.0 <= self.told <= 1.0:
            raise SettingsError(f"writer.told is a share from 0 to 1, not {self.told}")


def word_settings(marks: Marks, words: int = 30_522) -> WordSettings:
    """The network's view of the marks."""
    return WordSettings(
        words=words,
        padding=marks.padding,
        unknown=marks.unknown,
        classify=marks.classify,
        end=marks.end,
        styles={"short": marks.short, "sentence": marks.sentence, "narrative": marks.narrative},
    )


class WriterTask:
    """Trains a `MasqueNetwork`.

    `start`: the weights of a pretrained encoder, in Hugging Face's names or those of a trained reader. `vectors`: word
    vectors of a network that encodes question and passages apart, (words, embedding).
    """

    def __init__(
        self,
        material: Material,
        network: MasqueSettings,
        settings: WriterTaskSettings | None = None,
        common: Sequence[int] = (),
        start: Path | None = None,
        vectors: Tensor | None = None,
        data: Mapping[str, Path] | None = None,
    ) -> None:
        self.settings = settings or WriterTaskSettings()
        self.material = material
        self.network = network
        self._common = torch.tensor(list(common)) if common else None
        self._start = start
        self._vectors = vectors
        self._data = dict(data or {})
        self.sampler = WriterSampler(material, self.settings.batch)
        self.valid_sampler = WriterSampler(
            material, replace(self.settings.batch, passages=self.settings.valid_passages)
        )
        self.transfer = TransferSampler(
            material, replace(self.settings.batch, tokens=self.settings.triple_tokens, size=0)
        )
        if self.settings.triples and not (network.encoder == "joint" and network.answer_source):
            raise SettingsError("writer.triples needs a joint network with answer_source; see train/style_transfer.py")

    def facts(self) -> TaskFacts:
        data = {self.material.path.name: file_hash(self.material.path)}
        data |= {name: file_hash(path) for name, path in self._data.items()}
        settings = asdict(self.settings)
        settings["batch"]["shares"] = {str(source): share for source, share in self.settings.batch.shares.items()}
        return TaskFacts("writer", data, {**settings, "network": asdict(self.network)})

    def model(self) -> MasqueNetwork:
        network = MasqueNetwork(self.network, self._common)
        if self._start is not None and network.reader.pretrained is not None:
            start_encoder(network.reader.pretrained, self._start)
        if self._vectors is not None and isinstance(network.reader, SeparateReader):
            network.reader.load_vectors(self._vectors, torch.ones(len(self._vectors), dtype=torch.bool))
        if self.settings.fused and isinstance(network.reader, JointReader):
            network.reader.pretrained.fuse()
        return network

    def batches(self, epoch: int, seed: int) -> LazyBatches[WriterBatch | TransferBatch]:
        """Microbatches with passages and, spread evenly among them, those of style transfer."""
        kinds: list[LazyBatches[WriterBatch] | LazyBatches[TransferBatch]] = []
        if self.settings.passages:
            kinds.append(self.sampler.batches(epoch, seed))
        rounds = self.settings.triples
        for turn in range(int(numpy.ceil(rounds))):
            drawn = self.transfer.batches(1000 * epoch + turn, seed)
            kept = min(1.0, rounds - turn)
            kinds.append(replace(drawn, plan=drawn.plan[: max(1, round(kept * len(drawn)))]))
        places = [((at + 0.5) / len(kind), number, at) for number, kind in enumerate(kinds) for at in range(len(kind))]
        return LazyBatches([(number, at) for _, number, at in sorted(places)], lambda place: kinds[place[0]][place[1]])

    def size(self, batch: WriterBatch | TransferBatch) -> int:
        return len(batch.example)

    def loss(
        self, model: MasqueNetwork, batch: WriterBatch | TransferBatch
    ) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        if isinstance(batch, TransferBatch):
            material = self.material.on(batch.example.device)
            said = decoded(material, batch, self.transfer.settings)
            memory = model.encode(self.triple(material, batch))
            generation = model.written_loss(memory, said.targets, said.mask, batch.style, said.mask[:, 0])
            return generation, {"transfer": generation.detach()}
        return self._loss(model, batch)

    def _loss(self, model: MasqueNetwork, batch: WriterBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        settings = self.network
        material = self.material.on(batch.example.device)
        memory = model.encode(self.reading(material, batch))
        relevant = self._relevant(batch)
        parts: dict[str, Tensor | float] = {}
        total = torch.zeros((), device=batch.example.device)
        if settings.decoder_layers and settings.generation_weight and len(batch.row):
            said = decoded(material, batch, self.settings.batch)
            shown = (batch.style == self.settings.batch.marks.sentence) & (
                torch.rand(len(batch.row), device=batch.row.device) < self.settings.told
            )
            rows = self._rows(model, memory, material, batch, shown)
            generation = model.written_loss(rows, said.targets, said.mask, batch.style, said.mask[:, 0])
            total = total + settings.generation_weight * generation
            parts["generation"] = generation.detach()
        real = memory.real & batch.labelled[:, None]  # other datasets say nothing of relevance
        ranking = None
        if settings.ranker == "pair":
            assert memory.ranking.pairs is not None
            ranking = pair_loss(memory.ranking.pairs, relevant, real)
        elif settings.ranker == "point":
            ranking = point_loss(memory.ranking.score, relevant, real, settings.positive_label)
        if ranking is not None:
            total = total + settings.ranking_weight * ranking
            parts["ranking"] = ranking.detach()
        if settings.classifier != "none":
            judged = classification_loss(memory.answerable, batch.answerable, settings.positive_label, batch.labelled)
            total = total + settings.classification_weight * judged
            parts["classification"] = judged.detach()
        return total, parts

    def evaluate(self, model: MasqueNetwork) -> Mapping[str, float]:
        """Scores in wordpieces on some of the validation examples: see `writer_scores.token_scores`."""
        found: dict[str, float] = {}
        settings = self.settings
        if settings.passages and settings.valid_short:
            asked = self.asked("short", settings.valid_short)
            found |= token_scores(list(self.say(model, asked, "short")), "short")
        if settings.valid_sentences and self.network.decoder_layers:
            told = self.asked("sentence", settings.valid_sentences)
            if settings.passages:
                found |= token_scores(list(self.say(model, told, "sentence", put_back=True)), "sentence")
            if self.network.answer_source:
                given = list(self.say(model, told, "sentence", put_back=True, told=True))
                found |= token_scores(given, "told")
        if settings.valid_narrative and self.network.decoder_layers:
            asked = self.asked("narrative", settings.valid_narrative)
            found |= token_scores(list(self.say(model, asked, "narrative")), "narrative")
        return found

    def asked(self, style: WrittenStyle, most: int = 0) -> Numbers:
        """Validation examples that have something to say in this style, or any, evenly spread if there are more.

        Short: all of the ten-passage set, the unanswerable too.
        """
        material = self.material
        wanted = material["valid"] == 1
        if style == "sentence":
            wanted &= (numpy.diff(material["sentences_until"]) > 0) & (material["source"] == TEN_PASSAGES)
        else:
            wanted &= material["source"] == (NARRATIVEQA if style == "narrative" else TEN_PASSAGES)
        found = numpy.flatnonzero(wanted)
        if most and len(found) > most:
            found = found[numpy.arange(most) * len(found) // most]
        return found

    @torch.no_grad()
    def say(
        self,
        model: MasqueNetwork,
        examples: Sequence[int] | Numbers,
        style: WrittenStyle,
        put_back: bool = False,
        told: bool = False,
        decoding: DecodingSettings | None = None,
    ) -> Iterator[Said]:
        """What the network writes about these examples, whether it can answer them, and how it ranks their passages.

        Not in the order of the examples. `told`: sentences are told the gold short answer.
        """
        device = next(model.parameters()).device
        decoding = decoding or DecodingSettings(max_tokens=self.settings.longest, provenance=False)
        material = self.material.on(device)
        for batch in self.valid_sampler.given(examples, style, put_back):
            here = moved(batch, device)
            memory = model.encode(self.reading(material, here))
            tokens: dict[int, tuple[int, ...]] = {}
            if self.network.decoder_layers and len(here.row):
                shown = torch.full((len(here.row),), told, device=device)
                rows = self._rows(model, memory, material, here, shown)
                words = self.network.words
                written = write(model, rows.packed(), here.style, words, decoding)
                tokens = {int(row): answer.tokens for row, answer in zip(batch.row, written, strict=True)}
            targets = dict(zip(batch.row.tolist(), batch.target.tolist(), strict=True))
            score, chance = memory.ranking.score.float().cpu(), torch.sigmoid(memory.answerable.float()).cpu()
            relevant = self._relevant(batch)
            for place, example in enumerate(batch.example.tolist()):
                real = memory.real[place].cpu()
                target = targets.get(place)
                yield Said(
                    example=example,
                    style=style,
                    tokens=tokens.get(place),
                    target=self.target(target) if target is not None else None,
                    answerable=bool(batch.answerable[place]),
                    chance=float(chance[place]),
                    scores=tuple(score[place][real].tolist()),
                    relevant=tuple(relevant[place][real].tolist()),
                )

    def target(self, number: int) -> tuple[int, ...]:
        starts = self.material["target_starts"]
        found: tuple[int, ...] = tuple(self.material["target_tokens"][starts[number] : starts[number + 1]].tolist())
        return found

    # Inside.

    def reading(self, material: Mapping[str, Tensor], batch: WriterBatch) -> Reading:
        """What the network reads, question by question; a source for answers is empty."""
        if self.network.encoder == "joint":
            return self._joint(material, batch)
        apart = separate(material, batch, self.settings.batch)
        mask = apart.passages.mask & apart.real[..., None]
        return Reading(
            apart.question.tokens,
            apart.question.mask,
            Sequences(apart.passages.tokens, mask, apart.copyable),
            given=self._relevant(batch) if self.network.ranker == "gold" else None,
        )

    def _joint(self, material: Mapping[str, Tensor], batch: WriterBatch) -> Reading:
        pairs, padding = batch.pairs, self.settings.batch.marks.padding
        together = joint(material, batch, self.settings.batch).sequences
        at, shape = (pairs.group, batch.slot), (pairs.groups, batch.slots, pairs.length)

        def placed(values: Tensor, empty: int | bool) -> Tensor:
            return torch.full(shape, empty, dtype=values.dtype, device=values.device).index_put(at, values)

        question = texts(material, "question", batch.question, batch.question_length, padding)
        return Reading(
            question.tokens,
            question.mask,
            Sequences(
                placed(together.tokens, padding),
                placed(together.mask, False),
                placed(together.passage, False),
                placed(together.types, 0),
            ),
            given=self._relevant(batch) if self.network.ranker == "gold" else None,
            answer=self._no_answer(question) if self.network.answer_source else None,
        )

    def _rows(
        self, model: MasqueNetwork, memory: Memory, material: Mapping[str, Tensor], batch: WriterBatch, shown: Tensor
    ) -> Memory:
        """The memory of each answer to be written; where `shown`, with its short answer as a source."""
        rows = memory.rows(batch.row)
        if not self.network.answer_source:
            return rows
        padding = self.settings.batch.marks.padding
        question = texts(material, "question", batch.question[batch.row], batch.question_length, padding)
        answer = short_answers(material, batch, self.settings.batch)
        answer = Texts(torch.where(shown[:, None], answer.tokens, padding), answer.mask & shown[:, None])
        return model.told(rows, paired(question, answer, self.settings.batch.marks))

    def triple(self, material: Mapping[str, Tensor], batch: TransferBatch) -> Reading:
        """Style transfer as a joint network reads it: the sentences around the answer are its one passage."""
        three, marks = transferred(material, batch, self.transfer.settings), self.settings.batch.marks
        context = paired(three.question, three.context, marks)
        assert context.types is not None
        return Reading(
            three.question.tokens,
            three.question.mask,
            Sequences(
                context.tokens[:, None], context.mask[:, None], context.copyable[:, None], context.types[:, None]
            ),
            given=torch.ones_like(three.question.mask[:, :1]) if self.network.ranker == "gold" else None,
            answer=paired(three.question, three.answer, marks),
        )

    def _no_answer(self, question: Texts) -> Sequences:
        none = Texts(question.tokens[:, :1], torch.zeros_like(question.mask[:, :1]))
        return paired(Texts(question.tokens[:, :1], question.mask[:, :1]), none, self.settings.batch.marks)

    def _relevant(self, batch: WriterBatch) -> Tensor:
        """Which passages are relevant: (questions, slots)."""
        pairs = batch.pairs
        empty = torch.zeros(pairs.groups, batch.slots, dtype=torch.bool, device=pairs.relevant.device)
        return empty.index_put((pairs.group, batch.slot), pairs.relevant)


def synthesise(
    task: WriterTask, model: MasqueNetwork, decoding: DecodingSettings | None = None
) -> Iterator[tuple[int, tuple[int, ...], bool]]:
    """A sentence for every training example that has an answer but no sentence: example, tokens, whether it ended."""
    device = next(model.parameters()).device
    decoding = decoding or DecodingSettings(max_tokens=task.settings.batch.max_target, provenance=False, block_ngrams=4)
    material = task.material.on(device)
    for batch in task.transfer.answers(task.transfer.to_synthesise()):
        here = moved(batch, device)
        with torch.no_grad():
            memory = model.encode(task.triple(material, here))
            written = write(model, memory.packed(), here.style, task.network.words, decoding)
        for example, answer in zip(batch.example.tolist(), written, strict=True):
            yield example, answer.tokens, answer.ended


def worth_keeping(
    made: Iterable[tuple[int, tuple[int, ...], bool]], material: Material
) -> tuple[list[int], list[tuple[int, ...]], int]:
    """Of synthetic sentences those that end and hold their answer: examples, sentences; and how many were made."""
    examples: list[int] = []
    kept: list[tuple[int, ...]] = []
    count = 0
    for example, tokens, ended in made:
        count += 1
        if ended and tokens and holds(tokens, first_answer(material, example)):
            examples.append(example)
            kept.append(tokens)
    return examples, kept, count


def first_answer(material: Material, example: int) -> tuple[int, ...]:
    """The tokens of an example's first answer."""
    first, starts = int(material["answers_until"][example]), material["target_starts"]
    found: tuple[int, ...] = tuple(material["target_tokens"][starts[first] : starts[first + 1]].tolist())
    return found


def holds(sentence: Sequence[int], answer: Sequence[int]) -> bool:
    """Whether the answer's tokens stand in the sentence, one behind the other."""
    size = len(answer)
    return any(tuple(sentence[at : at + size]) == tuple(answer) for at in range(len(sentence) - size + 1))


def paired(first: Texts, second: Texts, marks: Marks) -> Sequences:
    """`[CLS] first [SEP] second [SEP]` row by row; the second's tokens may be copied. Without one, `[CLS] first [SEP]`.

    (rows, length) of both, to (rows, length of all).
    """
    said, told = first.mask.sum(1, keepdim=True), second.mask.sum(1, keepdim=True)  # (rows, 1)
    length = -(-(first.tokens.shape[1] + second.tokens.shape[1] + 3) // 8) * 8
    place = torch.arange(length, device=said.device)[None, :].expand(len(said), length)
    at = said + 2
    last = torch.where(told > 0, at + told, said + 1)

    def put(text: Texts, begin: Tensor | int) -> Tensor:
        return text.tokens.gather(1, (place - begin).clamp(0, text.tokens.shape[1] - 1))

    copyable = (place >= at) & (place < at + told)
    tokens = torch.full(place.shape, marks.padding, device=place.device)
    tokens = torch.where((place >= 1) & (place <= said), put(first, 1), tokens)
    tokens = torch.where(copyable, put(second, at), tokens)
    tokens = torch.where((place == said + 1) | (place == last), marks.separate, tokens)
    tokens = torch.where(place == 0, marks.classify, tokens)
    mask = place <= last
    return Sequences(tokens, mask, copyable, ((place > said + 1) & mask).long())


def start_encoder(encoder: Encoder, weights: Path) -> None:
    """Fill an encoder from published weights, or from those of a trained reader network."""
    found = load_file(weights)
    if "encoder.word.weight" not in found:
        load_pretrained(encoder, weights)
        return
    if (layers := saved_layers(weights)) != encoder.settings.layers:
        raise SettingsError(
            f"{weights} has {layers} layers, the writer's encoder {encoder.settings.layers}: "
            f"name a reader of {encoder.settings.layers} layers (recipes/reader.toml makes one), or none"
        )
    own = {name.removeprefix("encoder."): tensor for name, tensor in found.items() if name.startswith("encoder.")}
    encoder.load_state_dict({name: tensor.float() for name, tensor in own.items()}, strict=True)
