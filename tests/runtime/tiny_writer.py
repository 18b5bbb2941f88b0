"""A writer of a few thousand numbers that has learnt one thing: `the story is`, the short answer, a full stop."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from tokenizers import Tokenizer

from train.letters import MARKS, VOCABULARY, WORDS, letters_tokenizer
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.masque import Answers, MasqueNetwork, Reading, Sequences, joint
from wherefrom.networks.masque_settings import MasqueSettings, WordSettings
from wherefrom.systems.writer.export import WriterExport, export_writer
from wherefrom.train.quantize import ExportPrecision as Precision

PIECES = list(dict.fromkeys(VOCABULARY))
SETTINGS: MasqueSettings = joint(
    pretrained=EncoderSettings("bert", len(PIECES), 32, 1, 2, 48, 96, types=2, dropout=0.0, attention_dropout=0.0),
    words=WordSettings(
        len(PIECES),
        MARKS.padding,
        MARKS.unknown,
        MARKS.classify,
        MARKS.end,
        {"short": MARKS.short, "sentence": MARKS.sentence, "narrative": MARKS.narrative},
    ),
    width=32,
    heads=2,
    inner=48,
    decoder_layers=1,
    longest_answer=40,
    answer_source=True,
    vocabulary=len(PIECES) - 20,
    dropout=0.0,
    attention_dropout=0.0,
    embedding_dropout=0.0,
)
COMMON = torch.tensor(sorted(range(len(PIECES)), key=lambda number: PIECES[number].strip("#").isdigit()))
EXPORT = WriterExport(max_tokens=96, max_question=4, max_title=6, max_written=32, marks=MARKS)
SAFE = {PIECES.index(word) for word in (*WORDS, ".", ",", "'", "s")}
STEPS = 150


class _Drawn:
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

    def batch(self, size: int) -> tuple[Reading, Answers]:
        questions, passages, shorts, targets, styles = [], [], [], [], []
        for _ in range(size):
            questions.append(self._ids(" ".join(self._chance.choices(self._words, k=3)) + " ?"))
            told = [self._ids(self.text(4, 8)) for _ in range(2)]
            passages.append(told)
            begin = self._chance.randrange(len(told[0]) - 1)
            short = told[0][begin : begin + self._chance.randint(1, 5)]
            written = self._chance.random() < 0.85
            shorts.append(short if written else [])
            styles.append(MARKS.sentence if written else MARKS.short)
            opening = self._ids("the story is") if written else []
            targets.append([*opening, *(short if written else told[0][:2]), *self._ids("."), MARKS.end])
        pairs = [
            [[MARKS.classify, *asked, MARKS.separate, *one, MARKS.separate] for one in told]
            for asked, told in zip(questions, passages, strict=True)
        ]
        answers = [
            [MARKS.classify, *asked, MARKS.separate, *short, MARKS.separate] if short else []
            for asked, short in zip(questions, shorts, strict=True)
        ]
        begins = [len(asked) + 2 for asked in questions]
        asked, asked_mask = padded(questions)
        target, mask = padded(targets)
        flat = sequences([one for row in pairs for one in row], [begin for begin in begins for _ in range(2)])
        reading = Reading(
            asked,
            asked_mask,
            Sequences(*(part.view(size, 2, -1) for part in flat if part is not None)),
            answer=sequences(answers, begins),
        )
        relevant = torch.tensor([[True, False]] * size)
        return reading, Answers(target, mask, torch.tensor(styles), torch.ones(size, dtype=torch.bool), relevant)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids


def padded(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    length = max(1, *(len(row) for row in rows))
    tokens = torch.tensor([[*row, *[MARKS.padding] * (length - len(row))] for row in rows])
    return tokens, torch.arange(length)[None, :] < torch.tensor([[len(row)] for row in rows])


def sequences(rows: list[list[int]], begins: list[int]) -> Sequences:
    tokens, mask = padded(rows)
    place, begin = torch.arange(tokens.shape[1])[None, :], torch.tensor(begins)[:, None]
    inside = (place >= begin) & (place < mask.sum(dim=1, keepdim=True) - 1)
    return Sequences(tokens, mask, inside, ((place >= begin) & mask).long())


def trained(steps: int = STEPS) -> MasqueNetwork:
    torch.manual_seed(3)
    torch.set_num_threads(1)
    network = MasqueNetwork(SETTINGS, COMMON)
    drawn = _Drawn(1, letters_tokenizer())
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


def write(folder: Path, network: MasqueNetwork, precision: Precision = "int8") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    letters_tokenizer().save(str(folder / "made.json"))
    settings = WriterExport(**{**{f: getattr(EXPORT, f) for f in EXPORT.__dataclass_fields__}, "precision": precision})
    export_writer(network, folder / "made.json", SAFE, folder, {"made": "for tests"}, settings)
    return folder
