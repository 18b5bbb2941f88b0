"""Synthetic sentences: a network that knows style transfer writes one for every training question that has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch

from wherefrom.networks.decoding import DecodingSettings, write
from wherefrom.networks.writer import Memory, WordpieceSettings, WritingNetwork
from wherefrom.train.batching import moved
from wherefrom.train.writing.material import WritingMaterial, save_synthetic
from wherefrom.train.writing.transfer_batches import TransferBatch, TransferSampler


class Transfers(Protocol):
    """A task that trains style transfer."""

    material: WritingMaterial
    transfer: TransferSampler

    def transfer_memory(self, model: Any, batch: TransferBatch) -> Memory:
        """What the network has read of a microbatch."""
        ...


class SyntheticSentence(NamedTuple):
    """A sentence for one example."""

    example: int
    tokens: tuple[int, ...]
    ended: bool


def synthesise(task: Transfers, model: WritingNetwork, words: WordpieceSettings) -> Iterator[SyntheticSentence]:
    """A sentence for every training example that has an answer but no sentence."""
    device = next(model.parameters()).device
    longest = task.transfer.settings.max_target
    decoding = DecodingSettings(max_tokens=longest, provenance=False, block_ngrams=4)
    for batch in task.transfer.answers(task.transfer.to_synthesise()):
        here = moved(batch, device)
        with torch.no_grad():
            memory = task.transfer_memory(model, here)
            written = write(model, memory.packed(), here.style, words, decoding)
        for example, answer in zip(batch.example.tolist(), written, strict=True):
            yield SyntheticSentence(example, answer.tokens, answer.ended)


def save_sentences(
    path: Path, task: Transfers, model: WritingNetwork, words: WordpieceSettings, report: Callable[[int, int], None]
) -> dict[str, int]:
    """Write the sentences that end and hold their answer; returns how many there were and how many are saved."""
    device = next(model.parameters()).device
    total, saved = len(task.transfer.to_synthesise()), []
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type != "cpu"):
        for done, sentence in enumerate(synthesise(task, model, words), start=1):
            if sentence.ended and sentence.tokens and holds(sentence.tokens, first_answer(task.material, sentence)):
                saved.append(sentence)
            report(done, total)
    save_synthetic(path, [sentence.example for sentence in saved], [sentence.tokens for sentence in saved])
    return {"written": total, "saved": len(saved)}


def first_answer(material: WritingMaterial, sentence: SyntheticSentence) -> list[int]:
    """The tokens of the answer that a sentence is made of."""
    return material.text("target", int(material["answers_until"][sentence.example]))


def holds(sentence: Sequence[int], answer: Sequence[int]) -> bool:
    """Whether the answer's tokens stand in the sentence, one behind the other."""
    size = len(answer)
    return any(tuple(sentence[at : at + size]) == tuple(answer) for at in range(len(sentence) - size + 1))
