"""The line of questions: clients take turns, nobody fills it alone, and who is refused is told when to come back."""

from __future__ import annotations

import pytest

from wherefrom.server.line import Line, QueueFull, Turns


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def joined(line: Line, client: str, questions: int, first: int = 0) -> int:
    """How many of so many questions are let in."""
    count = 0
    for number in range(first, first + questions):
        try:
            line.join(client, f"question {number}")
        except QueueFull:
            continue
        count += 1
    return count


def test_clients_take_turns() -> None:
    turns: Turns[str] = Turns()
    for number in range(4):
        turns.put("busy", f"busy {number}")
    turns.put("late", "late 0")
    turns.put("last", "last 0")
    assert len(turns) == 6
    assert turns.take(4) == ["busy 0", "late 0", "last 0", "busy 1"]
    turns.put("late", "late 1")
    assert turns.take(9) == ["busy 2", "late 1", "busy 3"]
    assert turns.take(1) == []


def test_one_client_cannot_fill_the_line() -> None:
    line = Line(64, patience=6.0)
    assert joined(line, "busy", 200) == 48
    assert joined(line, "other", 1) == 1
    assert joined(line, "third", 200) < 15
    assert len(line) < 64
    line.leave("other")
    assert joined(line, "other", 1) == 1


def test_two_hundred_at_once_are_let_in_as_far_as_they_can_be_answered_in_time() -> None:
    line = Line(64, patience=6.0)
    line.answered(8, 4.0)  # half a second each
    assert joined(line, "one", 200) == 10  # the last one waits five seconds
    assert joined(line, "another", 1) == 1  # its turn is second


def test_who_is_refused_is_told_when_and_goes_before_those_who_are_new() -> None:
    clock = Clock()
    line = Line(64, patience=8.0, clock=clock)
    line.answered(1, 1.0)
    assert joined(line, "one", 7) == 7
    waits = []
    for number in range(100, 103):
        with pytest.raises(QueueFull, match="ask again in") as refused:
            line.join("one", f"question {number}")
        waits.append(refused.value.retry)
    assert waits == sorted(waits)
    assert 1 <= waits[0] < waits[-1] < 10
    clock.now = waits[0]
    with pytest.raises(QueueFull):
        line.join("one", "new")
    line.join("one", "question 100")
    line.leave("one")
    with pytest.raises(QueueFull):
        line.join("one", "newer")


def test_who_does_not_come_back_keeps_nobody_out() -> None:
    clock = Clock()
    line = Line(64, patience=6.0, clock=clock)
    line.answered(1, 1.0)
    assert joined(line, "one", 5000) == 5
    for _ in range(5):
        line.leave("one")
    assert joined(line, "other", 1, first=9000) == 1  # nobody is there: nothing is kept free for those
    clock.now = 1000.0
    with pytest.raises(QueueFull) as refused:
        [line.join("one", f"later {number}") for number in range(50)]
    assert refused.value.retry < 5


def test_the_first_guess_gives_way_to_what_is_measured() -> None:
    line = Line(64, patience=6.0)
    line.guess(60.0)
    assert joined(line, "one", 10) == 1
    line.answered(1, 0.001)
    line.guess(60.0)
    assert joined(line, "one", 10) == 10


def test_an_empty_line_lets_anybody_in_however_slow_the_machine() -> None:
    line = Line(1, patience=0.1)
    line.answered(1, 500.0)
    line.join("one", "question")
    with pytest.raises(QueueFull) as refused:
        line.join("one", "another")
    assert refused.value.retry == 60
