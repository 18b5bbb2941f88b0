"""Why a question was answered as it was, or not at all: which step of its trip lost the answer, in plain words.

`why` looks at a trace alone, so it costs next to nothing. With the answer that was expected it also names the step at
which that was lost; the steps are those that `bench/real` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wherefrom.features.overlap import Stems
from wherefrom.text import normalized, words
from wherefrom.types import Candidate, Hit, LosingStage, Loss, Passage, Reasons, StageReason, Style, Trace

FIRST = 5  # ranked passages that should hold the answer: further down, the reader rarely takes it from them
_SHOWN = 3  # passages and candidates that are told one by one
_NAMED = 120  # characters of a text that is quoted
_NEAR = 150  # characters around the best candidate in which the question's words are looked for
_RELEVANT = 0.5
_CLOSE = 0.7  # of log scores: the other answer is at least half as likely
_HOPELESS = 0.05  # a smaller chance is no reason to lower the bar
_MAY_BE = 0.35  # from which chance on what was nearest is offered, though it is too unlikely to be called an answer
_ENOUGH = 0.6  # F1 of an answer that is a part of the expected one

_STEPS = {
    "extraction": "it is not in the library: never added, or not read out of its file",
    "retrieval": "no passage with it was found",
    "ranking": "its passage was ranked too low to be read well",
    "reading": "its passage was read, and something else was taken out of it",
    "judging": "it was the best answer, and judged too unlikely",
    "writing": "it was the best answer, and something else was written",
}

_WRITTEN: dict[Style, str] = {
    "short": "in a few words",
    "sentence": "as a sentence",
    "quote": "as a quotation",
    "passage": "as a passage",
    "explain": "in some sentences",
    "free": "in words of its own",
}


def why(
    trace: Trace,
    min_chance: float,
    expect: str | None = None,
    held: Callable[[str], bool] | None = None,
    language: str = "english",
) -> Reasons:
    """What each step did with the question, and what to do about it.

    `min_chance` is the chance that was needed. `expect` is an answer that should have been given; `held` tells whether
    the library's documents hold a text (`Library.why` looks into them), without it they are taken to do so.
    """
    return Reasons(
        steps=(
            _retrieved(trace),
            _ranked(trace.hits),
            _read(trace.candidates),
            _judged(trace, min_chance, Stems(language)),
            _written(trace, min_chance),
        ),
        closing=_closing(trace, min_chance),
        lost=None if expect is None else _loss(trace, expect, held or (lambda _text: True)),
    )


def offered(trace: Trace) -> Candidate | None:
    """Where it declines: what may be the answer all the same, to be looked at."""
    answer = trace.answer
    declined = answer is not None and answer.text is None and not answer.reason and answer.chance >= _MAY_BE
    return trace.candidates[0] if declined and trace.candidates else None


def lost_at(first_right: int | None, answered: bool, stored: Callable[[], bool], rank: int | None) -> LosingStage:
    """The step that lost an answer: the first one after which it was no longer where it should be.

    `first_right` is the place, from 0, of the first candidate that is right; `stored` says whether the library holds it
    at all; `rank`, from 1, is that of the first hit that holds it.
    """
    if first_right == 0:
        return "writing" if answered else "judging"
    if not stored():
        return "extraction"
    if rank is None:
        return "retrieval"
    return "ranking" if rank > FIRST else "reading"


def same_answer(text: str, expected: str) -> bool:
    """Whether a text gives the expected answer: holds it as whole words, or is the better part of it."""
    plain, wanted = normalized(text), normalized(expected)
    if not plain or not wanted:  # all marks: a key or an operator
        return bool(expected.strip()) and expected.strip() in text
    if f" {wanted} " in f" {plain} ":
        return True
    part, whole = len(plain.split()), len(wanted.split())
    return f" {plain} " in f" {wanted} " and 2 * part / (part + whole) >= _ENOUGH


# ------------------------------------------------------------------------------------------------ steps


def _retrieved(trace: Trace) -> StageReason:
    hits = sorted(trace.hits, key=lambda hit: -hit.features.get("retrieve", hit.score))
    if not hits:
        return StageReason("retrieve", "no passage was found")
    documents = len({hit.passage.document_id for hit in hits})
    summary = f"{_count(len(hits), 'passage')} of {_count(documents, 'document')} found; the nearest by its words:"
    score = hits[0].features.get("retrieve", hits[0].score)
    return StageReason("retrieve", summary, (f"{_named(hits[0].passage)}, score {score:.1f}",))


def _ranked(hits: Sequence[Hit]) -> StageReason:
    if not any("rank" in hit.features for hit in hits):
        return StageReason("rank", "the order is that in which they were found" if hits else "nothing to rank")
    before = sorted(hits, key=lambda hit: -hit.features.get("retrieve", 0.0))
    place = {hit.passage.id: number for number, hit in enumerate(before, start=1)}
    details = [
        f"{number}. {_named(hit.passage)}, relevance {hit.score:.2f}, found as number {place[hit.passage.id]}"
        for number, hit in enumerate(hits[:_SHOWN], start=1)
    ]
    return StageReason("rank", "put into order by how well they answer:", tuple(details))


def _read(candidates: Sequence[Candidate]) -> StageReason:
    if not candidates:
        return StageReason("read", "nothing was read out of them")
    different: dict[str, tuple[int, Candidate]] = {}
    for number, candidate in enumerate(candidates, start=1):
        different.setdefault(normalized(candidate.text) or candidate.text, (number, candidate))
    details = [
        f'{number}. "{_short(candidate.text)}" from {candidate.passage.id}, score {candidate.score:.2f}'
        for number, candidate in list(different.values())[:_SHOWN]
    ]
    return StageReason("read", f"{_count(len(candidates), 'possible answer')} read out of them:", tuple(details))


def _judged(trace: Trace, min_chance: float, stems: Stems) -> StageReason:
    if trace.answer is None:
        return StageReason("judge", "not judged")
    if trace.answer.reason:
        return StageReason("judge", f"not judged; {trace.answer.reason}")
    enough = "enough" if trace.answer.chance >= min_chance else "too little"
    summary = f"chance {trace.answer.chance:.2f}, {min_chance:.2f} needed: {enough}"
    return StageReason("judge", summary, tuple(_signals(trace, stems)))


def _signals(trace: Trace, stems: Stems) -> list[str]:
    """What speaks for the best answer and against it, as far as the trace shows it."""
    if not trace.candidates:
        return []
    best, signals = trace.candidates[0], []
    relevance = max((hit.features["rank"] for hit in trace.hits if "rank" in hit.features), default=None)
    if relevance is not None:
        side = "for" if relevance >= _RELEVANT else "against"
        signals.append(f"{side}: the best passage has relevance {relevance:.2f}")
    missing = missing_words(trace.question.text, best, stems)
    if missing:
        signals.append(f"against: not mentioned near the best answer: {', '.join(missing)}")
    elif stems(trace.question.text):
        signals.append("for: all words of the question are mentioned near the best answer")
    form = normalized(best.text)
    alike = {c.passage.id for c in trace.candidates if normalized(c.text) == form}
    if len(alike) > 1:
        signals.append(f"for: {len(alike)} passages say the same")
    other = next((c for c in trace.candidates if normalized(c.text) != form), None)
    if other is not None and "span" in best.features and best.score - other.score < _CLOSE:
        signals.append(f'against: "{_short(other.text)}" is nearly as likely')
    return sorted(signals, key=lambda signal: not signal.startswith("for"))


def missing_words(question: str, best: Candidate, stems: Stems) -> list[str]:
    """The question's content words that stand neither near the candidate nor in its title and section."""
    passage = best.passage
    near = passage.text[max(best.start - _NEAR, 0) : best.end + _NEAR]
    there = set(stems(f"{passage.title}\n{passage.section}\n{near}"))
    plain = dict.fromkeys(question[start:end] for start, end in words(question))
    return [word for word in plain if any(stem not in there for stem in stems(word))]


def _written(trace: Trace, min_chance: float) -> StageReason:
    answer = trace.answer
    if answer is None or answer.text is None:
        if answer is None or answer.chance < min_chance or not trace.candidates:
            return StageReason("write", "nothing was written")
        return StageReason("write", "the writer had nothing to say")
    details = [f'"{_short(answer.text)}"']
    best = trace.candidates[0].text if trace.candidates else ""
    if answer.rests_on:
        details.append(f'decided by "{_short(best)}"')
    elif best and not same_answer(answer.text, best):
        details.append(f'it does not hold the best answer that was read, "{_short(best)}"')
    own = sum(word.source == "vocabulary" for word in answer.words)
    summary = "quoted as it was read:" if own == 0 and answer.style == "short" else f"written {_WRITTEN[answer.style]}:"
    return StageReason("write", "Yes or No:" if answer.rests_on else summary, tuple(details))


# ---------------------------------------------------------------------------------------------- closing


def _closing(trace: Trace, min_chance: float) -> str:
    answer = trace.answer
    if answer is None:
        return "searched: no answer was wanted"
    if answer.text is not None:
        return f"answered: the chance {answer.chance:.2f} reaches the {min_chance:.2f} that is needed"
    if answer.reason:
        return f"declined: {answer.reason}; ask in English, or with --set judge.english_only=false"
    if not trace.hits:
        return "declined: no passage shares a word with the question; try other words, or add documents"
    if not trace.candidates:
        return "declined: nothing could be read out of the passages; try other words, or add documents"
    near = list({hit.passage.document_id: _named(hit.passage) for hit in reversed(trace.hits)}.values())[::-1][:_SHOWN]
    advice = ["try other words"]
    if answer.chance >= min_chance:
        return f"declined: the writer could not tell it from {'; '.join(near)}; try another style"
    if answer.chance >= _HOPELESS:
        advice.append(f'--min-chance {int(answer.chance * 100) / 100:.2f} for "{_short(trace.candidates[0].text)}"')
    advice.append("add documents")
    return (
        f"declined: the best answer's chance {answer.chance:.2f} is below {min_chance:.2f}; the library comes nearest "
        f"in {'; '.join(near)}; {', '.join(advice[:-1])}, or {advice[-1]}"
    )


# ------------------------------------------------------------------------------------------------- loss


def _loss(trace: Trace, expected: str, held: Callable[[str], bool]) -> Loss:
    answer = trace.answer
    given = answer.text if answer else None
    if given is not None and _gives(given, expected):
        return Loss(expected, None, "the answer gives it")
    if normalized(expected) in ("yes", "no"):
        stage: LosingStage = "judging" if given is None else "writing"
        return Loss(expected, stage, _STEPS[stage])
    right = [place for place, each in enumerate(trace.candidates) if same_answer(each.text, expected)]
    rank = next((rank for rank, hit in enumerate(trace.hits, 1) if _holds(hit.passage.text, expected)), None)
    stage = lost_at(right[0] if right else None, given is not None, lambda: rank is not None or held(expected), rank)
    detail = _STEPS[stage]
    if stage == "ranking":
        detail += f" (number {rank})"
    elif stage == "reading" and right:
        detail += f" (it is possible answer {right[0] + 1})"
    return Loss(expected, stage, detail)


def _gives(given: str, expected: str) -> bool:
    """A Yes or No is compared by the first word alone."""
    wanted = normalized(expected)
    return normalized(given).partition(" ")[0] == wanted if wanted in ("yes", "no") else same_answer(given, expected)


def _holds(text: str, expected: str) -> bool:
    plain, wanted = normalized(text), normalized(expected)
    return f" {wanted} " in f" {plain} " if wanted else expected.strip() in text


# ------------------------------------------------------------------------------------------------ words


def _named(passage: Passage) -> str:
    return f"{passage.title} ({passage.id})" if passage.title else passage.id


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _NAMED else plain[: _NAMED - 2].rsplit(" ", 1)[0] + " …"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
