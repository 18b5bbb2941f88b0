"""Statements: what of a passage can be told by itself, at its characters, and what leans on what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.material import passage
from wherefrom.features.statements import Statement, holding, quoted, statements_of
from wherefrom.types import Candidate, Passage, joined

FERRY = passage(
    "ferry.md#0",
    "Crossing the sound\n\nThe ferry leaves at nine. It takes forty minutes. There is no ferry on Sundays.",
)
PACKING = passage(
    "packing.md#0", "What to bring:\n- a warm coat for the deck\n- two sandwiches\n- the ticket\n\nThe end."
)
CODE = passage("code.md#0", "Install the tool first:\n\n$ make deps\n$ make tool\n\nThen run it once with root rights.")


def texts(*passages: Passage) -> list[str]:
    return [each.text for each in statements_of(passages)]


def test_headings_are_none_and_sentences_are() -> None:
    assert texts(FERRY) == ["The ferry leaves at nine.", "It takes forty minutes.", "There is no ferry on Sundays."]


def test_what_begins_with_a_word_for_something_else_leans_on_the_sentence_before() -> None:
    first, second, third = statements_of([FERRY])
    assert (first.hanging, second.hanging, third.hanging) == (False, True, False)  # "There is" stands alone
    assert (second.before, third.before) == (0, 1)


def test_a_short_list_is_whole_with_what_announces_it() -> None:
    (whole,) = statements_of([PACKING])
    assert whole.kind == "list"
    assert whole.text == "What to bring:\n- a warm coat for the deck\n- two sandwiches\n- the ticket"
    assert joined(quoted(whole)) == whole.text  # its lines are kept


def test_a_long_list_is_told_item_by_item_without_marks() -> None:
    items = [f"- the {number}th thing that has to be brought along on this very long trip" for number in range(12)]
    pool = statements_of([passage("long.md#0", "Bring:\n" + "\n".join(items))])
    assert {each.kind for each in pool} == {"item"}
    assert pool[0].text == items[0].removeprefix("- ")


def test_code_is_whole_with_the_line_before_it() -> None:
    code, after = statements_of([CODE])
    assert code.kind == "code"
    assert code.text == "Install the tool first:\n\n$ make deps\n$ make tool"
    assert after.text == "Then run it once with root rights."


def test_rows_of_a_table_are_statements_of_their_own() -> None:
    pool = statements_of([passage("table.csv#0", "Boat | Length: 12 m | Berth: 4\nYawl | Length: 9 m | Berth: 7")])
    assert [(each.kind, each.text[:4]) for each in pool] == [("row", "Boat"), ("row", "Yawl")]


@pytest.mark.parametrize("text", ["", "   \n\n ", "— … —", "and so on.", "Yes, sir."])
def test_scraps_are_none(text: str) -> None:
    assert texts(passage("scrap.txt#0", text)) == []


def test_what_two_passages_share_is_there_once() -> None:
    document = "One sentence stands here. Another one stands behind it. The last one closes the page."
    cut = document.index("Another"), document.index(" The last")
    one = Passage("a#0", "a", document[: cut[1]], 0, cut[1])
    other = Passage("a#1", "a", document[cut[0] :], cut[0], len(document))
    assert texts(one, other) == [
        "One sentence stands here.",
        "Another one stands behind it.",
        "The last one closes the page.",
    ]
    last = statements_of([one, other])[-1]
    assert last.before == 1  # across the passages' border
    assert last.place == ("a", document.index("The last"))


def test_line_breaks_of_a_page_are_blanks_in_prose_and_every_word_keeps_its_place() -> None:
    page = passage("page.pdf#0", "The tide turns at\nnoon, they say, and\nthen the boats leave.")
    (statement,) = statements_of([page])
    words = quoted(statement)
    assert joined(words) == "The tide turns at noon, they say, and then the boats leave."
    assert all(page.text[word.start : word.end] == word.text for word in words)


def test_the_length_is_in_words_between_blanks() -> None:
    statement = Statement(FERRY, 20, 45, "sentence", 0)
    assert statement.text == "The ferry leaves at nine."
    assert statement.length == 5
    assert replace(statement, end=40).length == 4


@pytest.mark.parametrize(
    "text",
    [
        "git bisect start [--no-checkout] [<bad> [<good>...]] [--] [<paths>...] git bisect run <cmd>",
        "git clean [-d] [-f] [-i] [-n] [-q] [-e <pattern>] [-x | -X] [--] [<pathspec>...]",
        "git rerere [clear | forget <pathspec> | diff | status | remaining | gc]",
        "$ git bisect good [COMMIT...]",
    ],
)
def test_a_synopsis_is_code(text: str) -> None:
    assert {each.kind for each in statements_of([passage("git.txt#0", f"SYNOPSIS\n\n{text}")])} == {"code"}


@pytest.mark.parametrize(
    "text",
    [
        "The options -a, -b and -c are left out here.",
        "With <name> given, it prints the name (and no more).",
        "Boat | Length: 12 m | Berth: 4 | Owner: Ann | Sail: [red]",
        "git-bisect - Use binary search to find the commit that introduced a bug",
        ":heisenbug: A bug that alters its behavior when one looks at it.",
    ],
)
def test_what_speaks_of_options_and_names_is_told(text: str) -> None:
    (one,) = statements_of([passage("git.txt#0", f"OPTIONS\n\n{text}\n\nNEXT")])
    assert (one.kind != "code", one.text) == (True, text)


@pytest.mark.parametrize(
    "text",
    [
        "See git-push(1) for details.",
        'See also : "stick match", "stick on", "stick store-request" and section 7 about ACLs of every kind there is.',
        "rerere: lift the limit rerere: plug leaks " * 6,
        "SEE ALSO\n\nFighting regressions with git bisect, git-blame(1).",
        "- Knit a broken sleeve without light:\n\nNEXT",
    ],
)
def test_what_sends_elsewhere_or_never_ends_is_none(text: str) -> None:
    assert texts(passage("git.txt#0", text)) == []


def test_the_statement_that_holds_an_answer_is_known_from_any_passage() -> None:
    pool = statements_of([FERRY])
    forty = FERRY.text.index("forty")
    part = Passage("ferry.md#1", FERRY.document_id, FERRY.text[forty:], FERRY.start + forty, FERRY.end)
    assert holding(pool, Candidate("forty minutes", part, 0, 13, 0.5)) == 1
    assert holding(pool, Candidate("Crossing", FERRY, 0, 8, 0.5)) is None
    assert holding(pool, Candidate("What", PACKING, 0, 4, 0.5)) is None


def test_what_names_itself_stands_alone_below_a_heading_or_a_synopsis() -> None:
    command = "This command ties threads together."
    (alone,) = statements_of([passage("knit.md#0", f"DESCRIPTION\n\n{command} ")])
    after_code = statements_of([passage("knit.md#0", f"knit [-a] [-b] [<wool>...]\n{command}")])[-1]
    _, after_prose = statements_of([passage("knit.md#0", f"There is a command for it. {command}")])
    (bare,) = statements_of([passage("knit.md#0", "DESCRIPTION\n\nThis is a command for wool.")])
    assert [each.hanging for each in (alone, after_code, after_prose, bare)] == [False, False, True, True]
    assert (after_code.before, after_prose.before) == (-1, 0)
