"""`wherefrom summarize`: tell many documents around a question, each sentence with its source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import complete_document, filter_options, json_option, k_option, library_options, opened
from wherefrom.cli.output import faint, one_line, print_json, say, strong

if TYPE_CHECKING:
    from wherefrom.library import Library
    from wherefrom.types import Filter, Passage, Summary, SummarySentence, Trace


@click.command("summarize")
@click.argument("question")
@click.argument("documents", nargs=-1, shell_complete=complete_document)
@click.option(
    "--words", type=click.IntRange(min=1), metavar="N", help="At most so many words [default: summarize.words]."
)
@k_option
@filter_options
@json_option
@library_options
def command(
    question: str,
    documents: tuple[str, ...],
    words: int | None,
    k: int | None,
    within: Filter | None,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Summarize documents around a QUESTION, in their own sentences, each with its source.

    Looks at the DOCUMENTS, named by their ids or files, or else at the whole library or the part that --in and its like
    leave. "Summarize the meeting" tells a document as a whole. Says so where the documents hold little or nothing.
    With --json, prints the whole trace.
    """
    with opened(library, toml, overrides) as opened_library:
        names = [_name(opened_library, document) for document in documents]
        trace = opened_library.summarize(question, words, names, k, within)
    if as_json:
        print_json(trace)
    else:
        print_summary(trace)


def _name(library: Library, document: str) -> str:
    """A document's id, or the path of its file or folder as the library knows it."""
    from wherefrom.errors import NotFound
    from wherefrom.types import Filter

    path = Path(document).expanduser().absolute().resolve().as_posix()
    try:
        library.check_fits(Filter(folders=(document,)))
        return document
    except NotFound:
        library.check_fits(Filter(folders=(document, path)))
        return path


def print_summary(trace: Trace) -> None:
    """The sentences as they come, each with the number of its source; then the sources."""
    summary = trace.summary
    assert summary is not None
    if summary.declined:
        reason = summary.reason[:1].upper() + summary.reason[1:]
        say(strong("There is nothing to summarize.") + f" {reason}.")
        return
    passages = evidence_of(summary)
    for sentence in summary.sentences:
        numbers = ", ".join(str(passages.index(passage) + 1) for passage in sentence.evidence)
        say(f"{sentence.space if sentence is not summary.sentences[0] else ''}{strong(sentence.text)}", nl=False)
        say(faint(f" [{numbers}]"), nl=False)
    say()
    if summary.reason:
        say(faint(f"{summary.reason}: {len(summary.text.split())} words"))
    say()
    for number, passage in enumerate(passages, start=1):
        say(f"[{number}] {_place(passage, [each for each in summary.sentences if passage in each.evidence])}")
    if trace.question.typed:
        say(faint(f"understood as: {trace.question.text}"))


def evidence_of(summary: Summary) -> list[Passage]:
    """The passages that its sentences rest on, in their order."""
    return list(dict.fromkeys(passage for sentence in summary.sentences for passage in sentence.evidence))


def _place(passage: Passage, sentences: list[SummarySentence]) -> str:
    """A source, and at which characters of its document the sentences stand."""
    spans = [
        (passage.start + sentence.words[0].start, passage.start + sentence.words[-1].end)
        for sentence in sentences
        if sentence.words and sentence.words[0].start is not None and sentence.words[-1].end is not None
    ]
    where = passage.place_of(spans[0][0] - passage.start) if spans else passage.place
    file = f"{passage.document_id}, {where}" if where else passage.document_id
    name = f"{passage.title} ({file})" if passage.title else file
    characters = ", ".join(f"{start} to {end}" for start, end in spans)
    return one_line(f"{name}, characters {characters}" if characters else name)
