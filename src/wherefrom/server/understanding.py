"""Follow-ups on their way through the engine: as the whole question that is meant, or as two where that is unsure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from wherefrom.conversation import best, questions_of
from wherefrom.server.engine import ChanceJudged, Event, Finished, HitsFound
from wherefrom.server.state import ServerState
from wherefrom.types import Filter, Question, Style, Turn


async def understood(
    state: ServerState,
    typed: str,
    turns: Sequence[Turn],
    style: Style,
    k: int | None = None,
    min_chance: float | None = None,
    within: Filter | None = None,
    client: str = "",
) -> AsyncGenerator[Event]:
    """The events of a question after these turns.

    Where one meaning is tried they come as the engine has them. Where two are, those of the one whose answer is judged
    better come once both are judged.
    """
    meanings = await state.off_loop(lambda: state.library.meanings(typed, turns)) if turns else []
    if not meanings:
        events = state.engine.ask(typed, style, k, min_chance, within=within, client=client)
        async with aclosing(events):
            async for event in events:
                yield event
        return
    questions = questions_of(typed, meanings, within)
    tries = [_Try(state, question, style, k, min_chance, client) for question in questions]
    try:
        if len(tries) > 1:
            await _together([asyncio.ensure_future(each.judged()) for each in tries])
        chosen = tries[best(meanings, [each.chance for each in tries])]
        for other in tries:
            if other is not chosen:
                await other.close()
        async for event in chosen.events():
            yield event
    finally:
        for each in tries:
            await each.close()


class _Try:
    """One meaning on its way: what has come of it is kept until it is chosen."""

    def __init__(
        self, state: ServerState, question: Question, style: Style, k: int | None, least: float | None, client: str
    ) -> None:
        self._question = question
        self._coming = state.engine.ask(question.text, style, k, least, within=question.within, client=client)
        self._kept: list[Event] = []
        self.chance = 0.0

    async def judged(self) -> None:
        """Follow it until the chance of its answer is known."""
        async for event in self._coming:
            self._kept.append(event)
            if isinstance(event, ChanceJudged):
                self.chance = event.chance
                return

    async def events(self) -> AsyncGenerator[Event]:
        for event in self._kept:
            yield self._named(event)
        async for event in self._coming:
            yield self._named(event)

    async def close(self) -> None:
        await self._coming.aclose()

    def _named(self, event: Event) -> Event:
        """With what was typed, and how it was understood."""
        asked_as = self._question
        if isinstance(event, HitsFound) and asked_as.typed:
            return replace(event, understood=event.understood or asked_as.text, instead=asked_as.instead)
        if isinstance(event, Finished):
            question = event.trace.question  # in which a misspelt word may have been mended
            question = replace(question, typed=asked_as.typed or question.typed, instead=asked_as.instead)
            return Finished(replace(event.trace, question=question))
        return event


async def _together(tasks: Sequence[asyncio.Future[None]]) -> None:
    """Wait for all; where one fails, or nobody waits any more, the others are ended before that is said."""
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
