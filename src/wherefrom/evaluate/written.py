"""Whether written answers keep to their sources: scores that need no gold, from traces.

All of one answer, from 0 to 1: `copied_exact`, copied words that stand at their offsets; `from_passage`,
`from_question`, `from_vocabulary`, its words by source; `attested`, content words that come from passages; `strange`,
whether it has a name or number that neither passages nor question have; `repeats`, whether four words in a row come
twice; `agrees`, whether it holds the system's own short answer.
"""

from __future__ import annotations

from typing import get_args

from wherefrom.metrics.styles import repeated_ngram_rate
from wherefrom.types import Answer, Trace, WordSource
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
        **{f"from_{source}": share(answer, source) for source in get_args(WordSource)},
        "strange": float(bool(unattested(answer.words, sources))),
        "repeats": float(repeated_ngram_rate([answer.text], 4) > 0),
    }
    if copied:
        exact = [_same(texts.get(word.passage_id or "", "")[word.start : word.end], word.text) for word in copied]
        values["copied_exact"] = sum(exact) / len(exact)
    if trace.candidates:
        values["agrees"] = float(tells(answer.text, trace.candidates[0].text))
    return values


def share(answer: Answer, source: WordSource) -> float:
    """The part of the answer's words that come from there."""
    return sum(word.source == source for word in answer.words) / len(answer.words)


def copied_from(trace: Trace) -> tuple[str, ...]:
    """The passage of every copied word."""
    words = trace.answer.words if trace.answer else ()
    return tuple(word.passage_id or "" for word in words if word.source == "passage")


def _same(there: str, word: str) -> bool:
    """A copied word is what stands at its place, but for the case of its first letter at the start of a sentence."""
    return there == word or there[:1].casefold() + there[1:] == word[:1].casefold() + word[1:]
