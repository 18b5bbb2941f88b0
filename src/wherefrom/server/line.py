"""The line of questions: who may join it, in whose turn they are answered, and when who may not shall come back.

Everybody waits about as long as everybody else: clients take turns, however many questions one of them asks, and none
can fill the line alone. Nobody waits in vain: a question that could not be answered for long is refused at once with
the time to come back, and when it is back it goes before those who are new.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from wherefrom.errors import WherefromError

_SHARE = 3  # a client may have as many times what is free in the line: of an empty one three quarters
_NEW = 0.75  # of the patience: who is new leaves room to those who were refused and come back
_GRACE_SECONDS = 5.0  # that a refused question may be late
_MOST_REFUSED = 1000  # that are remembered
_LONGEST_RETRY = 60
_LEARNT = 0.2  # share of the last batch in the pace of all so far

_Item = TypeVar("_Item")


class QueueFull(WherefromError):
    """There is no place for the question now; `retry` says in how many seconds there may be one."""

    def __init__(self, retry: int) -> None:
        super().__init__(f"too many questions are under way; ask again in {retry} s")
        self.retry = retry


class Line:
    """Who is in it, of which client; used by the event loop alone, but for `answered`."""

    def __init__(self, most: int, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._patience = patience
        self._clock = clock
        self._pace = 0.0  # seconds a question, when they are read together
        self._learnt = 0  # from so many batches
        self._inside: dict[str, int] = {}
        self._refused: OrderedDict[tuple[str, str], float] = OrderedDict()  # until when they are expected back

    def __len__(self) -> int:
        return sum(self._inside.values())

    def join(self, client: str, question: str) -> None:
        """Take a place, to be left by `leave`; raises QueueFull."""
        self._forget()
        own, free = self._inside.get(client, 0), self._most - len(self)
        patience = self._patience * (1.0 if (client, question) in self._refused else _NEW)
        if free <= 0 or own >= _SHARE * free or self._wait(own) > patience:
            raise QueueFull(self._refuse(client, question))
        self._refused.pop((client, question), None)
        self._inside[client] = own + 1

    def leave(self, client: str) -> None:
        self._inside[client] -= 1
        if not self._inside[client]:
            del self._inside[client]

    def guess(self, seconds: float) -> None:
        """How long a question may take, before one was answered."""
        if not self._learnt:
            self._pace = seconds

    def answered(self, questions: int, seconds: float) -> None:
        """Learn how long a question takes."""
        self._learnt += 1
        share = max(_LEARNT, 1 / self._learnt)
        self._pace += share * (seconds / questions - self._pace)

    def _wait(self, own: int) -> float:
        """Seconds until the turn of a client that has so many questions in the line already."""
        return self._pace * sum(min(count, own + 1) for count in self._inside.values())

    def _refuse(self, client: str, question: str) -> int:
        """Remember the question, and say when its turn is: when those inside, and those refused before it, are done."""
        place = (client, question)
        before = list(self._refused).index(place) if place in self._refused else len(self._refused)
        wait = self._pace * (len(self) + before) - _NEW * self._patience
        retry = min(max(math.ceil(wait), 1), _LONGEST_RETRY)
        if len(self._refused) < _MOST_REFUSED or place in self._refused:
            self._refused[place] = self._clock() + retry + _GRACE_SECONDS
        return retry

    def _forget(self) -> None:
        """Who was refused and has not come back."""
        now = self._clock()
        for place in [place for place, until in self._refused.items() if until < now]:
            del self._refused[place]


class Turns(Generic[_Item]):
    """What waits, in the order in which it is served: clients by turns, of each what came first."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_Item]] = {}  # whose turn is next comes first

    def __len__(self) -> int:
        return sum(len(items) for items in self._waiting.values())

    def put(self, client: str, item: _Item) -> None:
        self._waiting.setdefault(client, deque()).append(item)

    def take(self, most: int) -> Sequence[_Item]:
        taken: list[_Item] = []
        while self._waiting and len(taken) < most:
            client = next(iter(self._waiting))
            items = self._waiting.pop(client)
            taken.append(items.popleft())
            if items:
                self._waiting[client] = items  # behind the others
        return taken
