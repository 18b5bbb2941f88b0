"""Whether written answers keep to their sources: scores that need no gold, from traces.

All of one answer, from 0 to 1: `copied_exact`, copied words that stand at their offsets; `attested`, content words that
come from passages; `strange`, whether it has a name or number that neither passages nor question have; `repeats`,
whether four words in a row come twice; `agrees`, whether it holds the system's own short answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.text import words
from wherefrom.types import Trace
from wherefrom.write.attest import attested, tells, unattested


def written_values(trace: Trace) -> dict[str, float]:
    """The scores of one answer; none where it was declined."""
    answer = trace.answer
    if answer is None or answer.text is None or not answer.words:
        return {}
    texts = {passage.id: passage.text for passage in answer.evidence}
    copied = [word for word in answer.words if word.source == "passage"]
    sources = [trace.question.text, *(hit.passage.text for hit in trace.hits), *texts.values()]
    values = {
        "attested": attested(answer),
        "strange": float(bool(unattested(answer.words, sources))),
        "repeats": float(repeats(answer.text)),
    }
    if copied:
        exact = [_same(texts.get(word.passage_id or "", "")[word.start : word.end], word.text) for word in copied]
        values["copied_exact"] = sum(exact) / len(exact)
    if trace.candidates:
        values["agrees"] = float(tells(answer.text, trace.candidates[0].text))
    return values


def copied_from(trace: Trace) -> tuple[str, ...]:
    """The passage of every copied word."""
    found = trace.answer.words if trace.answer else ()
    return tuple(word.passage_id or "" for word in found if word.source == "passage")


def repeats(text: str, n: int = 4) -> bool:
    """Whether n words in a row come twice; case does not count."""
    said = [text[start:end].casefold() for start, end in words(text)]
    grams: Sequence[tuple[str, ...]] = [tuple(said[at : at + n]) for at in range(len(said) - n + 1)]
    return len(set(grams)) < len(grams)


def _same(there: str, word: str) -> bool:
    """A copied word is what stands at its place, but for the case of its first letter at the start of a sentence."""
    return there == word or there[:1].casefold() + there[1:] == word[:1].casefold() + word[1:]
