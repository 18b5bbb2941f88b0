"""Microbatches of similar length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.errors import SettingsError
from wherefrom.train.batching import LazyBatches, bucketed, dealt, moved

LENGTHS = st.lists(st.integers(1, 60), max_size=120)


@given(LENGTHS, st.integers(1, 9), st.integers(0, 5))
def test_every_example_is_in_one_batch_of_the_size(lengths: list[int], size: int, epoch: int) -> None:
    batches = bucketed(lengths, epoch=epoch, seed=1, size=size, window=3)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    assert sum(len(batch) < size for batch in batches) <= 1
    assert all(0 < len(batch) <= size for batch in batches)


@given(LENGTHS, st.integers(20, 200))
def test_no_batch_exceeds_the_token_budget_unless_it_is_one_example(lengths: list[int], tokens: int) -> None:
    batches = bucketed(lengths, epoch=0, seed=1, tokens=tokens, window=3)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(lengths[position] for position in batch) <= tokens or len(batch) == 1


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 5)), max_size=120), st.integers(20, 400))
def test_examples_of_several_sequences_keep_to_the_budget_too(examples: list[tuple[int, int]], tokens: int) -> None:
    lengths, pieces = [length for length, _ in examples], [count for _, count in examples]
    batches = bucketed(lengths, epoch=0, seed=1, tokens=tokens, window=3, pieces=pieces)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = sum(pieces[position] for position in batch) * max(lengths[position] for position in batch)
        assert padded <= tokens or len(batch) == 1


def test_the_order_repeats_and_changes_with_epoch_and_seed() -> None:
    lengths = [position % 17 + 1 for position in range(200)]
    first = bucketed(lengths, epoch=0, seed=1, size=4)
    assert first == bucketed(lengths, epoch=0, seed=1, size=4)
    assert first != bucketed(lengths, epoch=1, seed=1, size=4)
    assert first != bucketed(lengths, epoch=0, seed=2, size=4)


def test_wastes_little_on_padding() -> None:
    lengths = [position * 7919 % 100 + 1 for position in range(3200)]

    def padded(window: int) -> int:
        batches = bucketed(lengths, epoch=0, seed=1, size=16, window=window)
        return sum(len(batch) * max(lengths[position] for position in batch) for batch in batches)

    assert padded(50) < 1.06 * sum(lengths)
    assert padded(1) > 1.5 * sum(lengths)


def test_long_and_short_batches_come_mixed() -> None:
    lengths = [position % 100 + 1 for position in range(3200)]
    longest = [lengths[batch[0]] for batch in bucketed(lengths, epoch=0, seed=1, size=16)]
    assert longest not in (sorted(longest), sorted(longest, reverse=True))


@pytest.mark.parametrize("wrong", [{}, {"size": 3, "tokens": 3}, {"size": 3, "window": 0}])
def test_says_what_is_wrong(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match=r"size|window"):
        bucketed([1, 2], epoch=0, seed=0, **wrong)


@given(st.integers(0, 20), st.integers(0, 9), st.integers(1, 5))
def test_positions_are_dealt_to_one_process_each(start: int, count: int, processes: int) -> None:
    hands = [list(dealt(start, start + count, rank, processes)) for rank in range(processes)]
    assert sorted(position for hand in hands for position in hand) == list(range(start, start + count))
    assert max(map(len, hands)) - min(map(len, hands)) <= 1


def test_lazy_batches_are_made_when_asked_for() -> None:
    made: list[list[int]] = []

    def make(positions: list[int]) -> int:
        made.append(positions)
        return sum(positions)

    batches = LazyBatches([[1, 2], [3]], make)
    assert len(batches) == 2
    assert made == []
    assert batches[1] == 3
    assert made == [[3]]


class Pair(NamedTuple):
    left: torch.Tensor
    right: str


@dataclass(frozen=True)
class Nested:
    pair: Pair
    many: list[torch.Tensor]
    named: dict[str, torch.Tensor]


def test_moves_tensors_through_what_holds_them() -> None:
    one = torch.ones(2)
    there = moved(Nested(Pair(one, "text"), [one], {"x": one}), torch.device("meta"))
    assert isinstance(there, Nested)
    assert {there.pair.left.device.type, there.many[0].device.type, there.named["x"].device.type} == {"meta"}
    assert there.pair.right == "text"
