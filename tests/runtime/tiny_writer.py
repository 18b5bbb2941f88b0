"""A writer of a few thousand numbers that has learnt one thing: `the story is`, the short answer, a full stop."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import torch
from tokenizers import Tokenizer

from train.letters import MARKS, VOCABULARY, WORDS, letters_tokenizer
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.writer import QuestionPassages, TargetAnswers, TokenSequences
from wherefrom.systems.writer.export import export_writer
from wherefrom.systems.writer.network import WriterNetwork, WriterNetworkSettings
from wherefrom.systems.writer.settings import WriterExport
from wherefrom.train.quantize import quantized
from wherefrom.train.writing.batches import WriterBatchSettings
from wherefrom.train.writing.task import word_settings

PIECES = list(dict.fromkeys(VOCABULARY))
SETTINGS = WriterNetworkSettings(
    pretrained=EncoderSettings("bert", len(PIECES), 32, 1, 2, 48, 96, types=2, dropout=0.0, attention_dropout=0.0),
    words=word_settings(MARKS, len(PIECES)),
    heads=2,
    inner=48,
    decoder_layers=1,
    longest_answer=40,
    vocabulary=len(PIECES) - 20,
    dropout=0.0,
    attention_dropout=0.0,
    embedding_dropout=0.0,
)
COMMON = torch.tensor(sorted(range(len(PIECES)), key=lambda number: PIECES[number].strip("#").isdigit()))
BATCH = WriterBatchSettings(max_tokens=96, max_question=4, marks=MARKS)
EXPORT = WriterExport(max_title=6, max_written=32)
SAFE = {PIECES.index(word) for word in (*WORDS, ".", ",", "'", "s")}
STEPS = 150


class Drawn:
    """Questions, passages and answers of random words."""

    def __init__(self, seed: int, tokenizer: Tokenizer) -> None:
        self._chance = random.Random(seed)
        self._tokenizer = tokenizer
        self._words = [word for word in WORDS if not word.startswith("##")]

    def text(self, least: int, most: int) -> str:
        words = [
            str(self._chance.randrange(3000)) if self._chance.random() < 0.15 else self._chance.choice(self._words)
            for _ in range(self._chance.randint(least, most))
        ]
        return " ".join(words)

    def batch(self, size: int) -> tuple[QuestionPassages, TargetAnswers]:
        questions, passages, shorts, targets, styles = [], [], [], [], []
        for _ in range(size):
            questions.append(self._ids(" ".join(self._chance.choices(self._words, k=3)) + " ?"))
            both = [self._ids(self.text(4, 8)) for _ in range(2)]
            passages.append(both)
            begin = self._chance.randrange(len(both[0]) - 1)
            short = both[0][begin : begin + self._chance.randint(1, 5)]
            written = self._chance.random() < 0.85
            shorts.append(short if written else [])
            styles.append(MARKS.sentence if written else MARKS.short)
            opening = self._ids("the story is") if written else []
            targets.append([*opening, *(short if written else both[0][:2]), *self._ids("."), MARKS.end])
        pairs = [
            [[MARKS.classify, *question, MARKS.separate, *one, MARKS.separate] for one in both]
            for question, both in zip(questions, passages, strict=True)
        ]
        answers = [
            [MARKS.classify, *question, MARKS.separate, *short, MARKS.separate] if short else []
            for question, short in zip(questions, shorts, strict=True)
        ]
        begins = [len(question) + 2 for question in questions]
        question, question_mask = padded(questions)
        target, mask = padded(targets)
        flat = sequences([one for row in pairs for one in row], [begin for begin in begins for _ in range(2)])
        reading = QuestionPassages(
            question,
            question_mask,
            TokenSequences(*(part.view(size, 2, -1) for part in flat if part is not None)),
            answer=sequences(answers, begins),
        )
        relevant = torch.tensor([[True, False]] * size)
        return reading, TargetAnswers(target, mask, torch.tensor(styles), torch.ones(size, dtype=torch.bool), relevant)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids


def padded(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    length = max(1, *(len(row) for row in rows))
    tokens = torch.tensor([[*row, *[MARKS.padding] * (length - len(row))] for row in rows])
    return tokens, torch.arange(length)[None, :] < torch.tensor([[len(row)] for row in rows])


def sequences(rows: list[list[int]], begins: list[int]) -> TokenSequences:
    tokens, mask = padded(rows)
    place, begin = torch.arange(tokens.shape[1])[None, :], torch.tensor(begins)[:, None]
    inside = (place >= begin) & (place < mask.sum(dim=1, keepdim=True) - 1)
    return TokenSequences(tokens, mask, inside, ((place >= begin) & mask).long())


def trained(steps: int = STEPS) -> WriterNetwork:
    torch.manual_seed(3)
    torch.set_num_threads(1)
    network = WriterNetwork(SETTINGS, COMMON)
    drawn = Drawn(1, letters_tokenizer())
    optimizer = torch.optim.Adam(network.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 8e-3, total_steps=steps)
    for _ in range(steps):
        loss, _ = network.loss(*drawn.batch(24))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return network.eval()


def write(folder: Path, network: WriterNetwork) -> Path:
    """As it is shipped, in 8 bits; in 32 it lies beside (`whole`), since exporting is what takes long."""
    made = whole(folder)
    made.mkdir(parents=True, exist_ok=True)
    letters_tokenizer().save(str(made / "made.json"))
    export_writer(network, BATCH, made / "made.json", SAFE, made, replace(EXPORT, precision="fp32"))
    shutil.copytree(made, folder, dirs_exist_ok=True)
    for graph in folder.glob("*.onnx"):
        quantized(graph, graph)
    settings = (folder / "settings.toml").read_text()
    (folder / "settings.toml").write_text(settings.replace('"fp32"', '"int8"'))
    return folder


def whole(folder: Path) -> Path:
    """Where the same network lies in 32 bits."""
    return folder.with_name(f"{folder.name}-fp32")
