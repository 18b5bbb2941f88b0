"""Questions that a trained asker draws about passages; a reader's teacher answers them, and what it can is kept.

A question that the teacher finds no answer to is dropped; for the others its answer is gold. Passages are those that
were retrieved for training questions and that no dataset asks about, and SQuAD's own if wanted. Nothing of the
validation articles is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import torch
from safetensors.numpy import save_file
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.networks.spans import best_spans
from wherefrom.systems.asker.network import AskerNetwork
from wherefrom.systems.asker.settings import AskerSettings, AskingSettings
from wherefrom.systems.asker.task import AskerTaskSettings, inside, marked, padded
from wherefrom.train.checkpoint import load_weights, saved_layers
from wherefrom.train.encoders import STUDENT, Encoders, Teacher
from wherefrom.train.material import SOURCES, Material, Numbers
from wherefrom.train.progress import paced
from wherefrom.train.seeds import seed_of
from wherefrom.train.stages import Facts, Say


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that was kept."""

    passage: int  # that it is about
    example: int  # of the material, that the passage was taken from
    tokens: Numbers
    first: int  # token of the passage
    last: int


@torch.no_grad()
def written(
    model: AskerNetwork, tokens: Tensor, mask: Tensor, task: AskerTaskSettings, settings: AskingSettings
) -> tuple[Tensor, Tensor]:
    """A drawn question about each passage, and how many tokens it has; 0 where it does not come to an end."""
    passage = inside(mask)
    plain = model.read(tokens, mask)
    first = _drawn(torch.softmax(model.starts(plain, passage), -1))
    last = _drawn(torch.softmax(model.ends(plain, passage, first), -1))
    states = model.read(tokens, mask, marked(tokens, first, last))
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
    teacher: Teacher, tokens: Tensor, mask: Tensor, question: Tensor, length: Tensor, task: AskerTaskSettings
) -> Answered:
    """`tokens` are [CLS] passage [SEP]; the teacher reads [CLS] question [SEP] passage [SEP]."""
    passage_length = mask.sum(1, keepdim=True) - 1  # with its [SEP]
    begin = length[:, None] + 2
    end = begin + passage_length
    place = torch.arange(int(end.max()), device=tokens.device)[None]
    both = torch.where(
        (place >= begin) & (place < end), tokens.gather(1, (place - begin + 1).clamp(0, tokens.shape[1] - 1)), 0
    )
    shifted = question.gather(1, (place - 1).clamp(0, question.shape[1] - 1).expand(len(question), -1))
    both = torch.where((place >= 1) & (place <= length[:, None]), shifted, both)
    both = torch.where(place == begin - 1, task.separate, both)
    both = torch.where(place == 0, task.classify, both)
    ids = both if teacher.tokens is None else teacher.tokens[both]
    output = teacher.network(ids, place < end, (place >= begin) & (place < end - 1), (place >= begin).long())
    best = best_spans(output.start, output.end, 30, 1)
    return Answered(torch.sigmoid(output.relevance), best.start[:, 0] - begin[:, 0], best.end[:, 0] - begin[:, 0])


def unasked(material: Material) -> tuple[Numbers, Numbers]:
    """Passages retrieved for training questions that no dataset asks about, and a training example with each."""
    column = material.column
    until, training = column("others_until"), column("valid") == 0
    example = numpy.repeat(numpy.arange(len(until) - 1), numpy.diff(until))
    others = column("others")
    taken = numpy.concatenate([column("gold")[column("gold") >= 0], others[~training[example]]])
    passages, place = numpy.unique(others, return_index=True)
    free = ~numpy.isin(passages, taken)
    return passages[free], example[place[free]]


def asked_before(material: Material) -> tuple[Numbers, Numbers]:
    """The passages of SQuAD's training questions, and an example with each."""
    column = material.column
    examples = numpy.flatnonzero(material.of_source("squad") & (column("gold") >= 0) & (column("valid") == 0))
    passages, place = numpy.unique(column("gold")[examples], return_index=True)
    return passages, examples[place]


def about(material: Material, task: AskerTaskSettings, settings: AskingSettings) -> tuple[Numbers, Numbers]:
    """The passages to ask about, longest first, and an example with each."""
    passages, examples = unasked(material)
    lengths = material.lengths("passage")
    long_enough = (lengths[passages] >= settings.shortest_passage) & (lengths[passages] <= task.max_tokens - 2)
    chosen = evenly_spread(numpy.flatnonzero(long_enough).tolist(), settings.most)
    passages, examples = passages[chosen], examples[chosen]
    if settings.again:
        own, having = (numpy.repeat(numbers, settings.again) for numbers in asked_before(material))
        fits = lengths[own] <= task.max_tokens - 2
        passages, examples = numpy.concatenate([passages, own[fits]]), numpy.concatenate([examples, having[fits]])
    order = numpy.argsort(lengths[passages], kind="stable")[::-1]
    return passages[order], examples[order]


def ask(
    material: Material,
    model: AskerNetwork,
    teacher: Teacher,
    device: torch.device,
    task: AskerTaskSettings,
    settings: AskingSettings,
) -> Iterator[tuple[int, int, list[AskedQuestion]]]:
    """Passages done and to do, and the questions about some that were kept."""
    passages, examples = about(material, task, settings)
    torch.manual_seed(seed_of("asking", settings.seed))
    for begin in range(0, len(passages), settings.batch):
        batch = range(begin, min(begin + settings.batch, len(passages)))
        texts = [material.text("passage", passages[number]) for number in batch]
        tokens, mask = (part.to(device) for part in padded(texts, task))
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            question, length = written(model, tokens, mask, task, settings)
            answers = answered(teacher, tokens, mask, question, length, task)
        good = ((length >= settings.shortest) & (answers.relevance >= settings.relevance)).tolist()
        questions, ends = question.cpu().numpy(), length.tolist()
        first, last = answers.first.tolist(), answers.last.tolist()
        yield (
            batch.stop,
            len(passages),
            [
                AskedQuestion(int(passages[n]), int(examples[n]), questions[row][: ends[row]], first[row], last[row])
                for row, n in enumerate(batch)
                if good[row]
            ],
        )


def extended(material: Material, questions: Sequence[AskedQuestion], others: int) -> dict[str, Numbers]:
    """The material's columns with the questions added, as examples of the source `asked`."""
    columns = {name: material.column(name) for name in material.names}
    count, first = len(questions), len(columns["question_starts"]) - 1

    def more(name: str, values: Any) -> None:
        columns[name] = numpy.concatenate([columns[name], numpy.asarray(values, columns[name].dtype)])

    beside = [
        [other for other in material.others(each.example) if other != each.passage][:others] for each in questions
    ]
    more("question", numpy.arange(first, first + count))
    more("gold", [each.passage for each in questions])
    more("valid", numpy.zeros(count))
    more("source", numpy.full(count, SOURCES.index("asked")))
    if "truth" in columns:
        more("truth", numpy.full(count, -1))
    more("spans_until", columns["spans_until"][-1] + numpy.arange(1, count + 1))
    more("spans", numpy.array([(each.first, each.last) for each in questions]).reshape(-1, 2))
    more("others_until", columns["others_until"][-1] + numpy.cumsum([len(passages) for passages in beside]))
    more("others", [passage for passages in beside for passage in passages])
    more("question_starts", columns["question_starts"][-1] + numpy.cumsum([len(each.tokens) for each in questions]))
    more("question_tokens", numpy.concatenate([each.tokens for each in questions]) if questions else [])
    return columns


def write_asked(
    material: Path,
    weights: tuple[Path, Path],
    encoders: Encoders,
    out: Path,
    settings: AskerSettings,
    made_of: Facts,
    device: str = "cpu",
    say: Say = print,
) -> Facts:
    """Ask, let the teacher answer, write the larger material; the facts in its header: `made_of`, how many were kept.

    `weights` are the asker's and the teacher's.
    """
    asker, answering = weights
    loaded, place = Material(material), torch.device(device)
    model = AskerNetwork(replace(encoders.settings(STUDENT), layers=saved_layers(asker)), settings.network)
    load_weights(model, asker)
    teacher = encoders.teacher(answering).to(place)
    torch.set_float32_matmul_precision("high")
    questions: list[AskedQuestion] = []
    drawn, report = 0, paced("questions drawn", say)
    for drawn, whole, more in ask(loaded, model.to(place).eval(), teacher, place, settings.task, settings.asking):
        questions += more
        report(drawn, whole)
    say(f"{len(questions):,} of {drawn:,} questions kept")
    if not questions:
        raise SettingsError("no question was kept: the asker has not learned to ask, or asking.relevance is too high")
    facts = {**made_of, "drawn": drawn, "questions": len(questions)}
    save_file(extended(loaded, questions, settings.asking.others), out, {"about": json.dumps(facts)})
    return {"drawn": drawn, "questions": len(questions)}
