"""What of a passage is quoted where an answer is to be a sentence: as much as says something by itself, and no more.

In prose the sentences that hold the answer; with them the one before where they begin in the middle of a thought ("It
...", "This ..."), and what they announce where they end in a colon. In a table the row, under the headings of its
columns unless the row has them itself; in a list the item. Every word stands at its characters of the passage; line
breaks and blanks of a page's layout are one blank in prose.
"""

from __future__ import annotations

import re
from dataclasses import replace

from wherefrom.text import FUNCTION_WORDS, Span, sentences, words
from wherefrom.types import Candidate, Passage, Word

_MOST = 3  # sentences
_MOST_CHARACTERS = 420  # a quotation is not made longer than this, whatever it begins with
_LONGEST = 700  # characters of one sentence; more is text without full stops, of which lines are quoted
_MANY_LINES = 5
_FEW_WORDS = 4  # a sentence of fewer says little
_LINE = re.compile(r"[^\n]*")
_ITEM = re.compile(r"\s*(?:[-*•–·▪◦+]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(?=\S)")  # linear: where sentences begin
_CELL = re.compile(r"\s\|\s|\s\|$")
_COLUMNS = re.compile(r"\S(?:\t|\s{3,})\S")
_HANGING = re.compile(
    r"(?:it|its|this|that|these|those|they|them|he|she|here|there|then|thus|otherwise|instead|however|also|such|but|and"
    r"|so|or|in this case|in that case|if so|if not|for example|for this)\b",
    re.IGNORECASE,
)
_TORN = re.compile(r"[)\]}.,;:!?%’”»]|[a-z]")  # the rest of what was taken for two sentences
_CODE = re.compile(r"[;{}]\s*$|^\s*(?:[$>]\s|[{}\])]|</?\w)")
_LEFT_OVER = re.compile(r"[|)\]},;:.]\s*")  # of what stood before
_ASKS_HOW_OR_WHY = re.compile(
    r"\bwhy\b|\bhow\s+(?!(?:many|much|old|long|far|tall|high|deep|often|big|large|fast|heavy|wide|few|soon)\b)\w"
    r"|\bwhat\s+(?:happens|causes|if|should|steps)\b|\bhow(?:\s+come)?\s*\?*$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(  # a sentence that begins so says more of what the one before it says
    r"(?:it|its|this|that|these|those|they|then|thus|therefore|so|hence|otherwise|instead|also|next|after(?:wards)?|once"
    r"|finally|first|second|to\b|if|when|because|since|for example|for this|as a result|in this case|that way|by doing"
    r"|you (?:can|may|must|should|need))\b",
    re.IGNORECASE,
)
_STEM = 5  # letters
_SHORT_LINE = 48  # characters; text goes on in the next line because it is another one, not because the page ends
_CLOSED = re.compile(r"""[.!?…。！？][\])"'”’»]*$""")


def quotation(candidate: Candidate) -> tuple[Word, ...]:
    """The words of the best candidate's passage that tell its answer."""
    passage, span = candidate.passage, (candidate.start, candidate.end)
    rows = _table_rows(passage.text, span)
    if rows is not None:
        return _joined(passage, rows, layout=True)
    start, end = _extent(passage.text, span)
    return _joined(passage, [(start, end)], layout=_is_layout(passage.text[start:end]))


def answering(question: str, candidate: Candidate) -> tuple[Word, ...]:
    """The one to three sentences that answer: a quotation, and where it is asked how or why what goes on from it."""
    passage, span = candidate.passage, (candidate.start, candidate.end)
    if _table_rows(passage.text, span) is not None or not _ASKS_HOW_OR_WHY.search(question):
        return quotation(candidate)
    start, end = _going_on(passage.text, *_extent(passage.text, span), question)
    return _joined(passage, [(start, end)], layout=_is_layout(passage.text[start:end]))


def _going_on(text: str, start: int, end: int, question: str) -> Span:
    """The extent with the sentences next to it that say more of the same, as long as it stays short.

    Those behind it come first: a step follows a step, and what is said by the way stands in front. One in front is
    taken where it shares words with the question that the extent lacks.
    """
    spans = sentences(text)
    while (following := next((each for each in spans if each[0] >= end), None)) is not None:
        if not _fits(text, spans, start, following[1]) or not _belongs(text, end, following[0]):
            break
        more = _GOES_ON.match(text, following[0]) or _ITEM.match(text, following[0])
        if not more and not _stems(text[slice(*following)]) & _stems(question):
            break
        end = following[1]
    before = next((each for each in reversed(spans) if each[1] <= start), None)
    if before is not None and _fits(text, spans, before[0], end) and _belongs(text, before[1], start):
        lacking = _stems(question) - _stems(text[start:end])
        if len(lacking & _stems(text[slice(*before)])) > 1:
            start = _cut_heading(text, before[0], before[1])
    return start, end


def _fits(text: str, spans: list[Span], start: int, end: int) -> bool:
    """Whether it is three sentences at most, and none too long."""
    count = sum(first >= start and last <= end for first, last in spans)
    return count <= _MOST and end - start <= _MOST_CHARACTERS and _CLOSED.search(text[start:end]) is not None


def _stems(text: str) -> set[str]:
    """What words are about, without their endings."""
    small = (text[first:last].lower() for first, last in words(text))
    return {word[:_STEM] for word in small if len(word) > 2 and word.isalpha() and word not in FUNCTION_WORDS}


def _table_rows(text: str, span: Span) -> list[Span] | None:
    """The lines of the table rows that the span touches, after the line of headings; None outside of tables."""
    first, last = _lines_around(text, span)
    if not _CELL.search(text[first:last]):
        return None
    mark = _LEFT_OVER.match(text, first, last)
    if mark is not None and mark.end() <= span[0]:
        first = mark.end()
    if re.search(r"\|\s[^|\n:]{1,40}:\s", text[first:last]):  # a row that names its columns
        return [(first, last)]
    top = first
    while top > 0 and _CELL.search(text[_line_start(text, top - 1) : top - 1]):
        top = _line_start(text, top - 1)
    heading = _line(text, top)
    cells = text[first:last].count("|")
    return [(first, last)] if heading[0] >= first or text.count("|", *heading) != cells else [heading, (first, last)]


def _extent(text: str, span: Span) -> Span:
    spans = sentences(text)
    touched = [number for number, (first, last) in enumerate(spans) if first < span[1] and last > span[0]]
    if not touched:
        return span
    first, last = touched[0], touched[-1]
    start, end = min(span[0], spans[first][0]), max(span[1], spans[last][1])
    lines = text[start:end].split("\n")
    if len(lines) >= _MANY_LINES and sum(len(line.strip()) < _SHORT_LINE for line in lines) > len(lines) * 0.6:
        first_line, last_line = _lines_around(text, span)
        if not _CODE.search(text[first_line:last_line]):
            return max(start, first_line), min(end, last_line)  # entries, a line each
    if end - start > max(_LONGEST, span[1] - span[0]):
        return _paragraph(text, span, start, end)
    start = _cut_heading(text, start, span[0])
    while start == spans[first][0] and first > 0 and last - first + 1 < _MOST:
        before, torn = spans[first - 1], _TORN.match(text, start) is not None
        whole = torn or (_HANGING.match(text, start) and _CLOSED.search(text[before[0] : before[1]]))
        if not whole or not _belongs(text, before[1], start) or end - before[0] > _MOST_CHARACTERS:
            break
        first, start = first - 1, before[0]
        if not torn:
            break
    announced = False
    while last + 1 < len(spans) and spans[last + 1][1] - start <= _MOST_CHARACTERS:
        so_far, following = text[start:end], spans[last + 1][0]
        item = _ITEM.match(text, following) is not None
        if len(words(text[slice(*spans[last + 1])])) < _FEW_WORDS and not item:
            break
        little = len(words(so_far)) <= _FEW_WORDS and not _ITEM.match(so_far) and not item
        announced = announced or so_far.endswith((":", "?"))
        more = (announced and item) or (last - first + 1 < _MOST and (so_far.endswith((":", "?")) or little))
        if not more or not (announced or _belongs(text, end, following)):
            break
        last += 1
        end = spans[last][1]
    for mark in (_ITEM.match(text, start, end), _LEFT_OVER.match(text, start, end)):
        if mark is not None and mark.end() <= span[0]:
            start = mark.end()
    if text[end - 1] == "," and end > span[1]:
        end -= 1  # an entry of a list
    return start, end


def _cut_heading(text: str, start: int, inside: int) -> int:
    """Where a sentence begins after the headings that stand on lines of their own before it."""
    for match in re.finditer(r"\n[^\S\n]*\n\s*", text[start:inside]):
        start_of_block = start + match.end()
        if start_of_block <= inside:
            return _cut_heading(text, start_of_block, inside)
    return start


def _paragraph(text: str, span: Span, start: int, end: int) -> Span:
    """Of text without full stops: the lines around the answer, as many as are not too long."""
    first, last = _lines_around(text, span)
    first, last = max(first, start), min(last, end)
    while last < end and (following := _line(text, min(last + 1, end)))[1] - first <= _MOST_CHARACTERS:
        if following[1] <= last:
            break
        last = following[1]
        if _CLOSED.search(text[first:last]):
            break
    if last - first <= _LONGEST:
        return first, max(last, span[1])
    first, last = max(start, span[0] - _MOST_CHARACTERS // 2), min(end, span[1] + _MOST_CHARACTERS // 2)
    while first > start and not text[first - 1].isspace():
        first += 1
    while last < end and not text[last].isspace():
        last -= 1
    return min(first, span[0]), max(last, span[1])


def _belongs(text: str, end: int, start: int) -> bool:
    """Whether two sentences stand in one block."""
    return "\n\n" not in text[end:start] and text[end:start].count("\n") < 2


def _is_layout(text: str) -> bool:
    """Whether blanks and line ends mean something: code, columns, or several items."""
    lines = text.split("\n")
    if sum(_CODE.search(line) is not None for line in lines) > 1:
        return True
    return any(_COLUMNS.search(line.strip()) for line in lines) or any(_ITEM.match(line) for line in lines[1:])


def _joined(passage: Passage, spans: list[Span], layout: bool) -> tuple[Word, ...]:
    """The words of the spans, a line each; `layout` keeps the white space between words as it is."""
    quoted: list[Word] = []
    for start, end in spans:
        before = start
        for place, (first, last) in enumerate(words(passage.text[start:end])):
            a, b = start + first, start + last
            space = passage.text[before:a]
            if place == 0:
                space = "\n" if quoted else ""
            elif not layout and space:
                space = "\n" if _another_line(passage.text, start, before, a) else " "
            quoted.append(Word(passage.text[a:b], "passage", passage.id, a, b, 1.0, space))
            before = b
    if not quoted:
        return ()
    return _marked(passage, quoted)


def _another_line(text: str, start: int, end: int, following: int) -> bool:
    """Whether a line ends at `end` because it is one of its own: a term above what explains it, a verse."""
    if "\n" not in text[end:following] or not (text[following].isupper() or "\n\n" in text[end:following]):
        return False
    return end - max(start, _line_start(text, end)) < _SHORT_LINE and (
        text[end - 1].isalnum() or text[end - 1] in ")\"'"
    )


def _marked(passage: Passage, quoted: list[Word]) -> tuple[Word, ...]:
    """A quotation that begins or ends in the middle of a sentence, because its passage does, says so."""
    first, last = quoted[0], quoted[-1]
    if (
        first.start is not None
        and passage.start > 0
        and not passage.text[: first.start].strip(" \n)]},;:.")
        and first.text.islower()
    ):
        quoted = [Word("…", "vocabulary"), replace(first, space=" "), *quoted[1:]]
    ends = last.end is not None and not passage.text[last.end :].strip()
    if (ends and last.text == ",") or (ends and last.text.islower() and last.text in _OPEN_ENDS):
        quoted.append(Word("…", "vocabulary", space=" "))
    return tuple(quoted)


_OPEN_ENDS = frozenset("a an the of to in and or for with by from that which is are was were".split())


def _lines_around(text: str, span: Span) -> Span:
    return _line_start(text, span[0]), _line(text, max(span[0], span[1] - 1))[1]


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _line(text: str, place: int) -> Span:
    start = _line_start(text, place)
    match = _LINE.match(text, start)
    assert match is not None
    return start, match.end()
