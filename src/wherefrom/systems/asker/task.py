"""More questions for the reader: a network learns to ask from SQuAD, asks about other passages, the teacher answers.

    python -m wherefrom.systems.asker.task fit --material M --start READER --config C --out A --device cuda
    python -m wherefrom.systems.asker.task ask --material M --out A --pretrained DIR --teacher T --asked M2 --device D

Passages are those that were retrieved for training questions and that no dataset asks about, and SQuAD's own if wanted.
A question that the teacher finds no answer to is dropped; for the others its answer is gold. Nothing of the validation
articles is used. `reader_make` does both.

Needs torch and safetensors only, so that it runs on a bare GPU machine. Interrupted, `fit` goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file
from torch import Tensor

from wherefrom.errors import SettingsError, WherefromError
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import ReaderNetwork, best_spans
from wherefrom.origin import file_hash
from wherefrom.systems.asker.network import AskerNetwork, AskerSettings
from wherefrom.systems.reader.run import STUDENT, TEACHER, own_tokens, run
from wherefrom.systems.reader.task import ASKED, SQUAD
from wherefrom.train.batching import LazyBatches, bucketed, moved
from wherefrom.train.checkpoint import load_weights, saved_layers
from wherefrom.train.loop import MODEL
from wherefrom.train.material import Material
from wherefrom.train.progress import paced
from wherefrom.train.seeds import seed_of
from wherefrom.train.settings import LoopSettings
from wherefrom.train.task import TaskFacts

LOOP = LoopSettings(
    seed=1,
    epochs=6,
    precision="bf16",
    learning_rate=5e-4,
    group_rates={"encoder.": 1e-4},
    warmup=0.06,
    metric="loss",
    goal="min",
    report_every=100,
    checkpoint_every=5000,
    evaluate_first=False,
)


@dataclass(frozen=True, slots=True)
class AskerTaskSettings:
    """What the asker sees."""

    max_tokens: int = 256  # of a passage; a longer one is cut around its answer
    tokens: int = 24_576  # of a microbatch, padding included
    answer: float = 0.2  # weight of finding answers beside that of writing questions
    answers: int = 4  # one passage in so many is also read for finding answers, which is the easier of the two
    classify: int = 101  # [CLS], also what a question begins with
    separate: int = 102  # [SEP], also what a question ends with
    valid_questions: int = 1000


@dataclass(frozen=True, slots=True)
class AskingSettings:
    """How questions are drawn, and which are kept."""

    seed: int = 1
    batch: int = 1024
    shortest_passage: int = 48  # tokens
    shortest: int = 5  # tokens of a question
    temperature: float = 0.9
    nucleus: float = 0.95  # only the likeliest tokens that together have this chance are drawn
    relevance: float = 0.5  # the least that the teacher must think of the pair
    others: int = 4  # passages beside the one asked about, of those retrieved together with it
    most: int = 0  # passages to ask about; 0 is all
    again: int = 0  # more questions about each of SQuAD's training passages


@dataclass(frozen=True, slots=True)
class Asked:
    """A microbatch: passages with an answer in each, and a question."""

    tokens: Tensor  # (batch, length): [CLS] passage [SEP]
    mask: Tensor  # (batch, length)
    first: Tensor  # (batch,) where the answer begins
    last: Tensor  # (batch,) its last token
    question: Tensor  # (batch, steps): [CLS] question [SEP]
    said: Tensor  # (batch, steps) true at tokens of the question, [CLS] and [SEP] among them


class AskerTask:
    """Trains an `AskerNetwork` on SQuAD's training questions."""

    def __init__(
        self,
        material: Path,
        encoder: EncoderSettings,
        start: Path | None,
        settings: AskerTaskSettings | None = None,
        network: AskerSettings | None = None,
    ) -> None:
        """`start` holds a trained reader, whose encoder the asker begins with."""
        self.settings = settings or AskerTaskSettings()
        self._network = network or AskerSettings()
        self._material = Material(material)
        self._start = start
        self._encoder = replace(encoder, layers=saved_layers(start)) if start else encoder
        column = self._material.column
        until, spans = column("spans_until"), column("spans")
        rows = numpy.flatnonzero((column("source") == SQUAD) & (column("gold") >= 0))
        first = spans[until[rows]].astype(numpy.int64)
        asked = self._material.lengths("question")[column("question")[rows]]
        fits = (first[:, 1] - first[:, 0] < self._network.longest_answer) & (asked < self._network.longest)
        self._rows, self._spans = rows[fits], first[fits]
        self._valid = column("valid")[self._rows] == 1

    def facts(self) -> TaskFacts:
        data = {self._material.path.name: file_hash(self._material.path)}
        if self._start is not None:
            data["start"] = file_hash(self._start)
        return TaskFacts("asker", data, {**asdict(self.settings), "network": asdict(self._network)})

    def model(self) -> AskerNetwork:
        network = AskerNetwork(self._encoder, self._network)
        if self._start is not None:
            reader = ReaderNetwork(self._encoder)
            load_weights(reader, self._start, without=("match.",))
            network.encoder.load_state_dict(reader.encoder.state_dict())
        return network

    def size(self, batch: Asked) -> int:
        return len(batch.tokens)

    def batches(self, epoch: int, seed: int) -> LazyBatches[Asked]:
        rows = numpy.flatnonzero(~self._valid)
        told = self._material.lengths("passage")[self._material.column("gold")[self._rows[rows]]]
        lengths = numpy.minimum(told + 2, self.settings.max_tokens).tolist()
        cut = bucketed(lengths, epoch=epoch, seed=seed, tokens=self.settings.tokens)
        return LazyBatches(cut, lambda places: self._batch(rows[numpy.array(places)]))

    def loss(self, model: AskerNetwork, batch: Asked) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        tokens, mask, first, last = (
            part[:: self.settings.answers] for part in (batch.tokens, batch.mask, batch.first, batch.last)
        )
        passage = _inside(mask)
        plain = model.read(tokens, mask)
        at = torch.arange(len(tokens), device=tokens.device)
        starts = torch.log_softmax(model.starts(plain, passage), -1)[at, first]
        ends = torch.log_softmax(model.ends(plain, passage, first), -1)[at, last]
        answer = -(starts + ends).mean()
        states = model.read(batch.tokens, batch.mask, _marked(batch.tokens, batch.first, batch.last))
        told = model.asked(states, batch.mask, batch.tokens, batch.question[:, :-1], batch.question[:, 1:])
        question = -(told * batch.said[:, 1:]).sum() / batch.said[:, 1:].sum()
        parts = {"question": question.detach(), "answer": answer.detach()}
        return question + self.settings.answer * answer, parts

    def evaluate(self, model: AskerNetwork) -> Mapping[str, float]:
        """The losses on questions about validation articles."""
        rows = numpy.flatnonzero(self._valid)
        rows = rows[:: max(1, len(rows) // max(1, self.settings.valid_questions))]
        device = next(model.parameters()).device
        sums = {"loss": 0.0, "question": 0.0, "answer": 0.0}
        for begin in range(0, len(rows), 64):
            some = rows[begin : begin + 64]
            total, parts = self.loss(model, moved(self._batch(some), device))
            for name, value in {"loss": total, **parts}.items():
                sums[name] += float(value) * len(some)
        return {name: value / max(1, len(rows)) for name, value in sums.items()}

    def _batch(self, places: NDArray[Any]) -> Asked:
        rows, column = self._rows[places], self._material.column
        passages, questions = column("gold")[rows], column("question")[rows]
        settings = self.settings
        most = settings.max_tokens - 2
        spans = self._spans[places]
        cut = numpy.maximum(
            0, numpy.minimum(spans[:, 0] - most // 2, self._material.lengths("passage")[passages] - most)
        )
        told = [_text(self._material, "passage", p)[c : c + most] for p, c in zip(passages, cut, strict=True)]
        said = [_text(self._material, "question", question) for question in questions]
        tokens, mask = _padded(told, settings)
        question, said_mask = _padded(said, settings, 1)
        first = torch.from_numpy(spans[:, 0] - cut + 1)
        return Asked(tokens, mask, first, torch.from_numpy(spans[:, 1] - cut + 1), question, said_mask)


def _text(material: Material, name: str, number: int) -> NDArray[Any]:
    starts = material.column(f"{name}_starts")
    return material.column(f"{name}_tokens")[starts[number] : starts[number + 1]]


def _padded(texts: Sequence[NDArray[Any]], settings: AskerTaskSettings, multiple: int = 8) -> tuple[Tensor, Tensor]:
    """`[CLS] text [SEP]`, padded to such a multiple: the tokens and where they are real."""
    longest = -(-(max(len(text) for text in texts) + 2) // multiple) * multiple
    tokens = numpy.zeros((len(texts), longest), numpy.int64)
    tokens[:, 0] = settings.classify
    for row, text in zip(tokens, texts, strict=True):
        row[1 : len(text) + 1] = text
        row[len(text) + 1] = settings.separate
    lengths = numpy.array([len(text) + 2 for text in texts])
    return torch.from_numpy(tokens), torch.from_numpy(numpy.arange(longest)[None] < lengths[:, None])


def _inside(mask: Tensor) -> Tensor:
    """The passage without its [CLS] and [SEP]."""
    inside = mask & mask.roll(-1, 1)
    inside[:, 0] = False
    return inside


def _marked(tokens: Tensor, first: Tensor, last: Tensor) -> Tensor:
    place = torch.arange(tokens.shape[1], device=tokens.device)[None]
    return (place >= first[:, None]) & (place <= last[:, None])


@torch.no_grad()
def written(
    model: AskerNetwork, tokens: Tensor, mask: Tensor, task: AskerTaskSettings, settings: AskingSettings
) -> tuple[Tensor, Tensor]:
    """A drawn question about each passage, and how many tokens it has; 0 where it does not come to an end."""
    passage = _inside(mask)
    plain = model.read(tokens, mask)
    first = _drawn(torch.softmax(model.starts(plain, passage), -1))
    last = _drawn(torch.softmax(model.ends(plain, passage, first), -1))
    states = model.read(tokens, mask, _marked(tokens, first, last))
    question = torch.full((len(tokens), 1), task.classify, device=tokens.device)
    length = torch.zeros(len(tokens), dtype=torch.long, device=tokens.device)
    over = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    for step in range(model.settings.longest):
        chance = model.following(states, mask, tokens, question) ** (1 / settings.temperature)
        chance[:, : task.classify + 1] = 0.0  # padding, unused, unknown, [CLS]
        if step < settings.shortest:
            chance[:, task.separate] = 0.0
        chance[:, task.separate + 1] = 0.0  # [MASK]
        likely, which = chance.topk(min(64, chance.shape[1]), -1)
        before = likely.cumsum(-1) - likely
        likely = likely.masked_fill(before > settings.nucleus * likely.sum(-1, keepdim=True), 0.0)
        following = which.gather(1, _drawn(likely)[:, None])
        ends = (following[:, 0] == task.separate) & ~over
        length = torch.where(ends, step, length)
        over |= ends
        question = torch.cat([question, following], 1)
        if bool(over.all()):
            break
    return question[:, 1:], length


def _drawn(chances: Tensor) -> Tensor:
    return torch.multinomial(chances.float(), 1).squeeze(1)


@dataclass(frozen=True, slots=True)
class Answered:
    """What the teacher makes of a question about a passage."""

    relevance: Tensor  # (batch,) a chance
    first: Tensor  # (batch,) token of the passage
    last: Tensor


@torch.no_grad()
def answered(
    teacher: ReaderNetwork,
    known: Tensor | None,
    tokens: Tensor,
    mask: Tensor,
    question: Tensor,
    length: Tensor,
    task: AskerTaskSettings,
) -> Answered:
    """`tokens` are [CLS] passage [SEP]; the teacher reads [CLS] question [SEP] passage [SEP]."""
    told = mask.sum(1, keepdim=True) - 1  # with its [SEP]
    at = length[:, None] + 2
    place = torch.arange(int((at + told).max()), device=tokens.device)[None]
    inside = (place >= at) & (place < at + told - 1)
    both = torch.where(
        (place >= at) & (place < at + told), tokens.gather(1, (place - at + 1).clamp(0, tokens.shape[1] - 1)), 0
    )
    heard = question.gather(1, (place - 1).clamp(0, question.shape[1] - 1).expand(len(question), -1))
    both = torch.where((place >= 1) & (place <= length[:, None]), heard, both)
    both = torch.where(place == at - 1, task.separate, both)
    both = torch.where(place == 0, task.classify, both)
    read = teacher(both if known is None else known[both], place < at + told, inside, (place >= at).long())
    found = best_spans(read.start, read.end, 30, 1)
    begin = at.squeeze(1)
    return Answered(torch.sigmoid(read.relevance), found.start[:, 0] - begin, found.end[:, 0] - begin)


def unasked(material: Material) -> tuple[NDArray[Any], NDArray[Any]]:
    """Passages retrieved for training questions that no dataset asks about, and a training example with each."""
    column = material.column
    until, training = column("others_until"), column("valid") == 0
    example = numpy.repeat(numpy.arange(len(until) - 1), numpy.diff(until))
    others = column("others")
    taken = numpy.concatenate([column("gold")[column("gold") >= 0], others[~training[example]]])
    passages, place = numpy.unique(others, return_index=True)
    free = ~numpy.isin(passages, taken)
    return passages[free], example[place[free]]


def asked_before(material: Material) -> tuple[NDArray[Any], NDArray[Any]]:
    """The passages of SQuAD's training questions, and an example with each."""
    column = material.column
    examples = numpy.flatnonzero((column("source") == SQUAD) & (column("gold") >= 0) & (column("valid") == 0))
    passages, place = numpy.unique(column("gold")[examples], return_index=True)
    return passages, examples[place]


def ask(
    material: Material,
    model: AskerNetwork,
    teacher: ReaderNetwork,
    known: Tensor | None,
    device: torch.device,
    task: AskerTaskSettings,
    settings: AskingSettings,
) -> Iterator[tuple[int, int, list[tuple[int, int, NDArray[Any], int, int]]]]:
    """Passages done and to do, and what was kept of some: (passage, example, question, first, last) each."""
    passages, examples = unasked(material)
    lengths = material.lengths("passage")[passages]
    fits = (lengths >= settings.shortest_passage) & (lengths <= task.max_tokens - 2)
    passages, examples, lengths = passages[fits], examples[fits], lengths[fits]
    if settings.most and len(passages) > settings.most:
        some = numpy.arange(settings.most) * len(passages) // settings.most
        passages, examples, lengths = passages[some], examples[some], lengths[some]
    if settings.again:
        before, having = (numpy.repeat(numbers, settings.again) for numbers in asked_before(material))
        near = material.lengths("passage")[before] <= task.max_tokens - 2
        passages, examples = numpy.concatenate([passages, before[near]]), numpy.concatenate([examples, having[near]])
        lengths = material.lengths("passage")[passages]
    order = numpy.argsort(lengths, kind="stable")[::-1]
    torch.manual_seed(seed_of("asking", settings.seed))
    for begin in range(0, len(order), settings.batch):
        some = order[begin : begin + settings.batch]
        tokens, mask = (
            part.to(device) for part in _padded([_text(material, "passage", n) for n in passages[some]], task)
        )
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            question, length = written(model, tokens, mask, task, settings)
            told = answered(teacher, known, tokens, mask, question, length, task)
        good = ((length >= settings.shortest) & (told.relevance >= settings.relevance)).cpu().numpy()
        texts, ends = question.cpu().numpy(), length.cpu().numpy()
        spans = torch.stack([told.first, told.last], 1).cpu().numpy()
        yield (
            begin + len(some),
            len(order),
            [
                (int(passages[n]), int(examples[n]), texts[row][: ends[row]], int(spans[row, 0]), int(spans[row, 1]))
                for row, n in enumerate(some)
                if good[row]
            ],
        )


def extended(
    material: Material, asked: Sequence[tuple[int, int, NDArray[Any], int, int]], others: int
) -> dict[str, NDArray[Any]]:
    """The material's tensors with the questions added, as examples of source `ASKED`."""
    tensors = {name: material.column(name) for name in material.names}
    count, questions = len(asked), len(tensors["question_starts"]) - 1

    def more(name: str, values: Any) -> None:
        tensors[name] = numpy.concatenate([tensors[name], numpy.asarray(values, tensors[name].dtype)])

    beside = []
    for passage, example, *_ in asked:
        beside.append([other for other in material.others(example) if other != passage][:others])
    more("question", numpy.arange(questions, questions + count))
    more("gold", [passage for passage, *_ in asked])
    more("valid", numpy.zeros(count))
    more("source", numpy.full(count, ASKED))
    more("spans_until", tensors["spans_until"][-1] + numpy.arange(1, count + 1))
    more("spans", numpy.array([(first, last) for *_, first, last in asked]).reshape(-1, 2))
    more("others_until", tensors["others_until"][-1] + numpy.cumsum([len(passages) for passages in beside]))
    more("others", [passage for passages in beside for passage in passages])
    texts = [text for _, _, text, *_ in asked]
    more("question_starts", tensors["question_starts"][-1] + numpy.cumsum([len(text) for text in texts]))
    more("question_tokens", numpy.concatenate(texts) if texts else [])
    return tensors


def made_of(material: Path, asker: Path, teacher: Path, settings: AskingSettings) -> dict[str, Any]:
    """What the larger material depends on; `asker` and `teacher` are weights."""
    return {
        "material": file_hash(material),
        "asker": file_hash(asker),
        "teacher": file_hash(teacher),
        "asking": asdict(settings),
    }


def write_asked(
    material: Path,
    asker: Path,
    teacher: Path,
    pretrained: Path,
    out: Path,
    task: AskerTaskSettings,
    settings: AskingSettings,
    device: str = "cpu",
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Ask, let the teacher answer, write the larger material; the facts in its header: `made_of`, how many were kept.

    `asker` and `teacher` are weights, `pretrained` is the folder of the published encoders.
    """
    loaded = Material(material)
    encoder = EncoderSettings.from_config(pretrained / STUDENT.encoder / "config.json")
    model = AskerNetwork(replace(encoder, layers=saved_layers(asker)))
    load_weights(model, asker)
    answering = ReaderNetwork(EncoderSettings.from_config(pretrained / TEACHER.encoder / "config.json"))
    load_weights(answering, teacher)
    known = own_tokens(pretrained, TEACHER.encoder)
    place = torch.device(device)
    torch.set_float32_matmul_precision("high")
    for network in (model, answering):
        network.to(place).eval()
    kept: list[tuple[int, int, NDArray[Any], int, int]] = []
    drawn, report = 0, paced("questions drawn", say)
    for drawn, whole, some in ask(
        loaded, model, answering, None if known is None else known.to(place), place, task, settings
    ):
        kept += some
        report(drawn, whole)
    say(f"{len(kept):,} of {drawn:,} questions kept")
    if not kept:
        raise SettingsError("no question was kept: the asker has not learned to ask, or asking.relevance is too high")
    facts = {**made_of(material, asker, teacher, settings), "drawn": drawn, "questions": len(kept)}
    save_file(extended(loaded, kept, settings.others), out, {"about": json.dumps(facts)})
    return facts


def asked_facts(path: Path) -> dict[str, Any]:
    """What the header of a larger material says; empty for another file."""
    with safe_open(path, framework="numpy") as file:
        facts: dict[str, Any] = json.loads((file.metadata() or {}).get("about", "{}"))
    return facts


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m wherefrom.systems.asker.task")
    parser.add_argument("stage", choices=("fit", "ask"))
    parser.add_argument("--material", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="fit: weights of a reader, whose encoder it begins with")
    parser.add_argument("--config", type=Path, help="fit: the config.json of that encoder")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the training")
    parser.add_argument("--pretrained", type=Path, help="ask: folder of the published encoders")
    parser.add_argument("--teacher", type=Path, help="ask: folder of the reader's teacher")
    parser.add_argument("--asked", type=Path, help="ask: where the larger material goes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--loop", default="{}", help="fit: settings of the loop to change, as JSON")
    parser.add_argument("--task", default="{}", help="settings of the task to change, as JSON")
    parser.add_argument("--asking", default="{}", help="ask: how questions are drawn, as JSON")
    options = parser.parse_args(arguments)
    settings = replace(AskerTaskSettings(), **json.loads(options.task))
    wanted = ("start", "config") if options.stage == "fit" else ("pretrained", "teacher", "asked")
    if any(getattr(options, name) is None for name in wanted):
        parser.error(f"{options.stage} needs " + ", ".join(f"--{name}" for name in wanted))
    try:
        if options.stage == "fit":
            task = AskerTask(options.material, EncoderSettings.from_config(options.config), options.start, settings)
            run(task, replace(LOOP, **json.loads(options.loop)), options.out, options.device)
        else:
            write_asked(
                options.material,
                options.out / MODEL,
                options.teacher / MODEL,
                options.pretrained,
                options.asked,
                settings,
                replace(AskingSettings(), **json.loads(options.asking)),
                options.device,
            )
    except WherefromError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
