"""WikiExtractor's articles are told apart, and a broken one does not take the next with it."""

from __future__ import annotations

import io

from wherefrom.ingest import wikipedia
from wherefrom.ingest.outcome import IngestFailure, Record

URL = "https://en.wikipedia.org/wiki?curid=12"
ARTICLE = f'<doc id="12" url="{URL}" title="Anarchism">\nAnarchism\n\nIt is a movement.\n\nMore.\n</doc>\n'


def read(data: str | bytes, limit: int = 1_000_000) -> list[Record | IngestFailure]:
    data = data.encode() if isinstance(data, str) else data
    return list(wikipedia.read(io.BytesIO(data), "wiki_00", limit))


def test_articles_are_read_without_the_repeated_title() -> None:
    second = ARTICLE.replace('id="12"', 'id="13"')
    assert read(ARTICLE + "\n" + second) == [
        Record("12", "Anarchism", "It is a movement.\n\nMore.", "line 1", URL),
        Record("13", "Anarchism", "It is a movement.\n\nMore.", "line 9", URL),
    ]


def test_a_first_line_that_is_not_the_title_stays() -> None:
    assert read('<doc id="1" title="A">\nA is a letter.\n</doc>') == [Record("1", "A", "A is a letter.", "line 1")]


def test_attributes_come_in_any_order_and_are_unescaped() -> None:
    data = '<doc title="R&amp;B &quot;live&quot;" nonfiltered="1" id="5">\nR&amp;B "live"\nfish &amp; &lt;b&gt;\n</doc>'
    assert read(data) == [Record("5", 'R&B "live"', "fish & <b>", "line 1")]


def test_quotes_inside_a_title_need_no_escape() -> None:
    data = f'<doc id="25" url="{URL}" title=""Heroes" (album)">\n"Heroes" (album)\n\nAn album.\n</doc>'
    assert read(data) == [Record("25", '"Heroes" (album)', "An album.", "line 1", URL)]


def test_articles_without_text_are_skipped_silently() -> None:
    empty = '<doc id="1" url="u" title="Redirect">\nRedirect\n\n</doc>\n<doc id="2" title="B">\n</doc>\n'
    assert [outcome.id for outcome in read(empty + ARTICLE)] == ["12"]


def test_a_missing_end_is_a_failure_that_names_the_id() -> None:
    cut = ARTICLE.replace("</doc>\n", "")
    assert read(cut + ARTICLE + cut) == [
        IngestFailure("wiki_00:1", "article 12 has no </doc>"),
        Record("12", "Anarchism", "It is a movement.\n\nMore.", "line 7", URL),
        IngestFailure("wiki_00:14", "article 12 has no </doc>; the file may be cut off"),
    ]


def test_text_outside_articles_is_told_once() -> None:
    assert read("stray\nlines\nhere\n" + ARTICLE)[0] == IngestFailure(
        "wiki_00:1", "there is text outside <doc ...> and </doc>"
    )
    assert len(read("stray\nlines\nhere\n" + ARTICLE)) == 2


def test_an_article_over_the_limit_fails_and_the_next_is_read() -> None:
    long = '<doc id="1" title="A">\n' + "word " * 1000 + "\n" + "word\n" * 1000 + "</doc>\n"
    outcomes = read(long + ARTICLE, limit=500)
    assert [type(outcome) for outcome in outcomes] == [IngestFailure, Record]
    assert outcomes[0].name == "wiki_00:1"
    assert "article 1 is longer than" in outcomes[0].reason


def test_an_article_may_speak_of_doc_tags() -> None:
    data = '<doc id="1" title="A">\nThe tag\n<doc > is\n<doc x> not html.</doc>\n'
    assert read(data) == [Record("1", "A", "The tag\n<doc > is\n<doc x> not html.", "line 1")]


def test_wrong_bytes_cost_a_character_only() -> None:
    assert read(b'<doc id="1" title="A">\nbad \xff byte\n</doc>') == [Record("1", "A", "bad \ufffd byte", "line 1")]
