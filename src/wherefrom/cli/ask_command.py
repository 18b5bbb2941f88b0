"""`wherefrom ask`: answer a question from the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import filter_options, json_option, k_option, libraries_options, opened, opened_all
from wherefrom.cli.output import faint, for_people, marked_all, one_line, print_json, say, strong
from wherefrom.text import FUNCTION_WORDS, Span, sentences
from wherefrom.types import STYLES, Style, joined
from wherefrom.write.attest import attested

if TYPE_CHECKING:
    from wherefrom.library import Library
    from wherefrom.several import Libraries
    from wherefrom.types import Answer, Filter, Passage, Reasons, Trace, Word


@click.command("ask")
@click.argument("question", nargs=-1, required=True)
@click.option("--style", type=click.Choice(STYLES), help="How the answer is told [default: write.style].")
@click.option(
    "--min-chance",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Decline below this chance that the answer is right [default: judge.min_chance].",
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=lambda _context, _parameter, file: _checked(file),
    help="Draw how a sentence was written: each word's shares by source, and what the network looked at (SVG).",
)
@click.option("--why", is_flag=True, help="Tell what each step did, which one lost the answer, and what to try.")
@click.option(
    "--expect", metavar="TEXT", help="An answer that should be given: tells at which step it was lost. Implies --why."
)
@k_option
@filter_options
@json_option
@libraries_options
def command(
    question: tuple[str, ...],
    style: Style | None,
    min_chance: float | None,
    picture: Path | None,
    why: bool,
    expect: str | None,
    k: int | None,
    within: Filter | None,
    as_json: bool,
    library: tuple[str, ...],
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Answer a question from the library and show where the answer came from.

    Says "I don't know" when nothing in the library fits. With --json, prints the whole trace: hits,
    candidates, and the answer with the source of every word. --why tells what each step did with the question.
    With --library given again, all of them are asked, and the answer that is judged best says which it is from.
    """
    if len(library) > 1:
        if picture is not None or why or expect is not None:
            raise click.UsageError("--picture, --why and --expect tell of one library's answer; name one --library")
        _ask_all(opened_all(library, toml, overrides), (" ".join(question), style, k, min_chance), within, as_json)
        return
    typed = Typed()
    on_words = typed if for_people() and not as_json else None
    with opened(library[0] if library else None, toml, overrides) as opened_library:
        if picture is not None:
            _check_drawn(opened_library, style)
        trace = opened_library.ask(" ".join(question), style, k, min_chance, on_words, within)
        if why or expect is not None:
            trace = replace(trace, why=opened_library.why(trace, min_chance, expect))
        if as_json:
            print_json(trace)
        else:
            print_answer(trace, typed.text)
            if trace.question.typed:
                say(faint(f"understood as: {trace.question.text}"))
            if trace.why is not None:
                print_reasons(trace.why)
        if picture is not None:
            _draw(opened_library, trace, picture)
    if picture is not None and not as_json:
        say(faint(f"\nwrote {picture}"))


def _ask_all(
    libraries: Libraries,
    wanted: tuple[str, Style | None, int | None, float | None],
    within: Filter | None,
    as_json: bool,
) -> None:
    """Answer from several libraries, and tell what the others would say instead."""
    typed = Typed()
    with libraries:
        traces = libraries.ask(*wanted, typed if for_people() and not as_json else None, within)
        needed = wanted[3] if wanted[3] is not None else libraries[traces.best.library].settings().judge.min_chance
    if as_json:
        print_json(traces)
        return
    print_answer(traces.best.trace, typed.text, traces.best.library)
    if traces.best.trace.answer is None or traces.best.trace.answer.text is None:
        return
    for other in traces.others:
        answer, candidates = other.trace.answer, other.trace.candidates
        if answer is not None and answer.chance >= needed and candidates:
            first = candidates[0]
            where = _named(first.passage, (first.start, first.end))
            say()
            say(f"the library {other.library} says {strong(' '.join(first.text.split()))}: {where}")
            say(faint(f"chance {answer.chance:.2f}"))


def _checked(file: Path | None) -> Path | None:
    """A picture's file that can be written."""
    if file is not None and file.suffix != ".svg":
        raise click.BadParameter(f"{file} must end in .svg")
    if file is not None and not file.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {file.parent}")
    return file


def _check_drawn(library: Library, style: Style | None) -> None:
    """Before anything is asked: whether answers of this style are written at all."""
    from wherefrom.write.explain import check_written

    write = library.settings().write
    check_written(write, style or write.style)


def _draw(library: Library, trace: Trace, file: Path) -> None:
    from wherefrom.durable import write_text
    from wherefrom.write.pictures import picture

    write_text(file, picture(library.explain(trace)))


class Typed:
    """Shows words as they are written."""

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, _number: int, words: tuple[Word, ...]) -> None:
        fresh = joined(words)
        self.text += fresh
        say(strong(fresh), nl=False)


def print_answer(trace: Trace, typed: str, library: str = "", sources: bool = True) -> None:
    """The answer or the refusal, and where it is from: all passages, or their names alone."""
    answer = trace.answer
    assert answer is not None
    if answer.reason:
        say(strong("I can't answer that:") + f" {answer.reason}.")
        return
    if answer.text is None:
        from wherefrom.reasons import offered

        say(strong("I don't know.") + f" Nothing in the library seems to answer this (chance {answer.chance:.2f}).")
        if perhaps := offered(trace):
            named = _named(perhaps.passage, (perhaps.start, perhaps.end))
            say(f"Perhaps: {strong(one_line(perhaps.text))}, from {named}.")
        elif trace.hits:
            nearest = list(dict.fromkeys(_named(hit.passage) for hit in trace.hits))[:3]
            say(faint("Nearest: " + "; ".join(nearest)))
        return
    if not answer.text.startswith(typed):
        say()
        typed = ""
    say(strong(answer.text[len(typed) :]))
    say(faint(f"chance {answer.chance:.2f}{_own(answer)}"))
    if sources:
        print_sources(answer, library)
    elif answer.evidence:
        say(faint("from " + "; ".join(dict.fromkeys(_from(answer, passage) for passage in answer.evidence))))


def _from(answer: Answer, passage: Passage) -> str:
    copied = _copied(answer, passage)
    return _named(passage, (copied[0][0], copied[-1][1]))


def print_sources(answer: Answer, library: str = "") -> None:
    """Every passage that the answer rests on, what it copies marked; and what other sources say instead."""
    for passage in answer.evidence:
        copied = _copied(answer, passage)
        start, end = copied[0][0], copied[-1][1]
        say()
        place = f"from {_named(passage, (start, end))}, characters {passage.start + start} to {passage.start + end}"
        if library:
            place += f", in the library {library}"
        if passage.document_id in answer.gone:
            place += ", whose file is gone"
        if (answer.text or "").split() == passage.text.split():  # it stands above, whole
            say(place)
        else:
            say(f"{place}:")
            say("  " + _shown(passage.text, copied).replace("\n", "\n  "))
    for other in answer.disagrees:
        age = ", an older version" if other.older else ""
        dated = f", {other.date[:10]}" if other.date else ""
        say()
        where = _named(other.passage, (other.start, other.end))
        say(f"another source says {strong(' '.join(other.text.split()))}: {where}{age}{dated}")


def print_reasons(reasons: Reasons) -> None:
    """What each step did, and what to try."""
    say()
    for step in reasons.steps:
        say(f"{strong(f'{step.stage:<8}')}  {one_line(step.summary)}")
        for detail in step.details:
            say(f"          {one_line(detail)}")
    say(one_line(reasons.closing))
    if reasons.lost is not None:
        stage = f"lost in {reasons.lost.stage}" if reasons.lost.stage else "not lost"
        say(f'expected "{reasons.lost.expected}": {stage}; {one_line(reasons.lost.detail)}')


def _own(answer: Answer) -> str:
    """How far words that are no quotation can be trusted."""
    if answer.rests_on:
        return f", of {answer.text} {answer.words[0].share:.2f}"
    return f", attested {attested(answer):.2f}" if any(word.source != "passage" for word in answer.words) else ""


def _named(passage: Passage, span: Span = (0, 1)) -> str:
    """A source, and where in its file these characters of the passage stand."""
    place = passage.place_of(*span)
    file = f"{passage.document_id}, {place}" if place else passage.document_id
    return one_line(f"{passage.title} ({file})" if passage.title else file)


def _shown(text: str, copied: Sequence[Span]) -> str:
    """The sentences around the copied characters, which stand out; the rest of the passage is left out."""
    start, end = copied[0][0], copied[-1][1]
    spans = sentences(text)
    touched = [number for number, (begin, stop) in enumerate(spans) if begin < end and stop > start]
    if not touched:
        return marked_all(text, copied)
    first, last = max(touched[0] - 1, 0), min(touched[-1] + 1, len(spans) - 1)
    begin, stop = spans[first][0], spans[last][1]
    shown = marked_all(text[begin:stop], [(a - begin, b - begin) for a, b in copied])
    return "[...] " * (first > 0) + shown + " [...]" * (last < len(spans) - 1)


def _copied(answer: Answer, passage: Passage) -> list[Span]:
    """The characters of the passage that the answer copies or rests on; words with only spaces between are one range.

    Function words that stand apart from all others are left out, unless there is nothing else.
    """
    places = sorted(
        {
            (word.start, word.end)
            for word in (*answer.words, *answer.rests_on)
            if word.passage_id == passage.id and word.start is not None and word.end is not None
        }
    )
    ranges: list[Span] = []
    for start, end in places:
        if ranges and not passage.text[ranges[-1][1] : start].strip():
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], end))
        else:
            ranges.append((start, end))
    telling = [(a, b) for a, b in ranges if passage.text[a:b].casefold() not in FUNCTION_WORDS]
    return telling or ranges or [(0, 0)]
