"""Web pages give their main text: no menus, no scripts, nothing lost."""

from __future__ import annotations

import socket

import pytest

from wherefrom.errors import IngestError
from wherefrom.ingest import html

PARAGRAPHS = "".join(
    f"<p>Paragraph {number} tells of the bridge and of the people who built it, at some length, with dates.</p>\n"
    for number in range(40)
)
FURNITURE = """
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop</a></li></ul></nav>
<div id="cookie-banner"><p>We use cookies to improve your experience.</p><button>Accept all</button></div>
<div class="top menu"><a href="/a">Products</a> <a href="/b">Careers</a></div>
"""
FOOTER = "<footer><p>Copyright 2020 Example Company</p></footer><script>track('visitor')</script>"


def page(body: str, head: str = "<title>The Old Bridge</title>") -> bytes:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode()


def text_of(body: str) -> str:
    return html.read(page(body), "x.html").text


@pytest.mark.parametrize("content", ["<p>It was built in 1932.</p>", PARAGRAPHS])
def test_menus_scripts_notices_and_footers_are_left_out(content: str) -> None:
    record = html.read(page(FURNITURE + f"<main><h1>Bridge</h1>{content}</main>" + FOOTER), "x.html")
    title, text = record.title, record.text
    assert title == "The Old Bridge"
    for furniture in ("Home", "Shop", "cookies", "Accept", "Products", "Copyright", "track"):
        assert furniture not in text
    assert text.startswith("Bridge\n\n")


def test_signs_that_link_to_their_own_heading_are_no_text() -> None:
    heading = '<h1>Core class<a class="headerlink" href="#core" title="Permalink">¶</a></h1>'
    body = f'{heading}<p>It has <a href="#a">one</a>.</p>'
    record = html.read(page(body, "<title>Core class — manual 1.0</title>"), "x.html")
    assert (record.title, record.text) == ("Core class", "Core class\n\nIt has one.")
    assert text_of('<p>It is <a href="#c">C</a> or <a href="c.html">#</a>.</p>') == "It is C or #."


def test_a_page_of_one_short_paragraph_is_kept() -> None:
    assert text_of("<p>It opened in 1932.</p>") == "It opened in 1932."


def test_headings_lists_and_tables_keep_their_place_in_a_long_page() -> None:
    body = (
        f"<h1>Bridge</h1>{PARAGRAPHS}<h2>Facts</h2><ul><li>steel</li><li>stone<ol><li>grey</li></ol></li></ul>"
        "<table><tr><th>Year</th><th>Event</th></tr><tr><td>1932</td><td>opened</td></tr></table>"
        f"<h2>Later</h2>{PARAGRAPHS}"
    )
    text = text_of(body)
    assert (
        "\n\nFacts\n\n- steel\n- stone\n  1. grey\n\nYear | Event\n1932 | Event: opened\n\nLater\n\nParagraph 0" in text
    )
    assert text.count("Paragraph") == 80


def test_every_paragraph_of_a_long_page_is_kept_apart_by_a_blank_line() -> None:
    paragraphs = text_of(PARAGRAPHS).split("\n\n")
    assert len(paragraphs) == 40
    assert paragraphs[7].startswith("Paragraph 7 tells")


def test_a_long_list_of_links_beside_the_text_is_left_out() -> None:
    links = "".join(f"<li><a href='/{n}'>Another story number {n} you may like</a></li>" for n in range(30))
    text = text_of(f"<article>{PARAGRAPHS}</article><div class='related'><h3>More</h3><ul>{links}</ul></div>")
    assert "Paragraph 39" in text
    assert "Another story" not in text


def test_line_breaks_entities_and_links_read_as_text() -> None:
    assert text_of("<p>Fish &amp; chips&nbsp;&mdash; <a href='x'>at\n   the pier</a><br>since&shy; 1932</p>") == (
        "Fish & chips — at the pier\nsince 1932"
    )


def test_preformatted_text_keeps_its_lines() -> None:
    assert text_of("<pre>if x:\n    y = 1</pre>") == "if x:\n    y = 1"


def test_a_table_that_only_lays_out_the_page_is_read_as_paragraphs() -> None:
    text = text_of("<table><tr><td><p>First one.</p><p>Second one.</p></td><td><p>Third one.</p></td></tr></table>")
    assert text == "First one.\n\nSecond one.\n\nThird one."


def test_a_form_around_the_whole_page_does_not_hide_it() -> None:
    assert "built in 1932" in text_of("<form action='/x'><p>The bridge was built in 1932.</p><input></form>")


def test_a_recipe_for_cookies_is_no_cookie_notice() -> None:
    assert "flour" in text_of("<div class='cookie-recipe'><p>Take butter and flour.</p></div>")


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title> Fish &amp;\n Chips </title>", "<h1>x</h1>", "Fish & Chips"),
        ("<title></title><meta property='og:title' content='From og'>", "<h1>x</h1>", "From og"),
        ("", "<h1>From <i>h1</i></h1>", "From h1"),
        ("", "<p>text</p>", "my page"),
    ],
)
def test_where_the_title_comes_from(head: str, body: str, title: str) -> None:
    assert html.read(page(body, head), "my_page.html").title == title


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("cp1251", "<meta charset=windows-1251>"),
        ("koi8_r", "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=koi8-r'>"),
        ("utf_8", "<meta charset='utf-8'>"),
        ("utf_8", "<meta charset='iso-8859-1'>"),
        ("utf_8", "<meta charset='no-such-thing'>"),
        ("utf_8", "<meta charset='punycode'>"),
        ("utf_8", ""),
        ("utf_8_sig", ""),
        ("utf_16", "<meta charset='utf-8'>"),
        ("cp1251", ""),
    ],
)
def test_the_encoding_is_the_declared_one_or_guessed(encoding: str, declared: str) -> None:
    text = "Москва - столица России и большой город, через который течёт река."
    data = page(f"<p>{text}</p>", declared).decode().encode(encoding)
    assert html.read(data, "x.html").text == text


def test_an_xml_declaration_gives_the_encoding() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>Grüße aus Köln</p></body></html>'
    assert html.read(data.encode("latin_1"), "x.xhtml").text == "Grüße aus Köln"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("just words", "just words"),
        ("<p>one<p>two<b>bold</p>three", "one\n\ntwobold\n\nthree"),
        ("<li>alone", "- alone"),
        ("<td>cell</td></tr></table></div>after", "cell after"),
        ("<div><p>unclosed", "unclosed"),
        ("<html><html><body><body><p>twice", "twice"),
        ("a < b and c > d", "a < b and c > d"),
        ("<script>only()</script>", ""),
        ("", ""),
        ("<!-- nothing -->", ""),
    ],
)
def test_fragments_and_broken_markup(markup: str, text: str) -> None:
    assert " ".join(html.read(markup.encode(), "x.html").text.split()) == " ".join(text.split())


@pytest.mark.parametrize("tag", ["div", "b", "font"])
@pytest.mark.parametrize("depth", [500, 50_000])
def test_thousands_of_unclosed_tags_do_not_hide_the_text(tag: str, depth: int) -> None:
    assert "deep down" in text_of(f"<{tag}>" * depth + "deep down")


def test_nesting_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(IngestError, match="nested too deeply"):
        html.read(page("<ul><li>" * 5000 + "deep"), "x.html")


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    secret = tmp_path / "secret"
    secret.write_text("hidden treasure")
    markup = (
        f'<!DOCTYPE html [<!ENTITY x SYSTEM "file://{secret}">]><html><head>'
        '<link rel="stylesheet" href="http://example.org/a.css"></head>'
        f'<body><iframe src="http://example.org"></iframe>{PARAGRAPHS}<p>&x;</p></body></html>'
    )
    assert "treasure" not in html.read(markup.encode(), "x.html").text


def test_what_stands_beside_a_marked_main_part_is_left_out() -> None:
    page = """<html><head><title>Tides | Sea Almanac</title></head><body><h4>Sea Almanac</h4>
    <main><h1>Tides</h1><p>The moon pulls the sea twice a day.</p></main>
    <div class="widget"><h4>Most read</h4><p>Sturdy notebooks, half price.</p></div></body></html>"""
    record = html.read(page.encode(), "tides.html")
    assert (record.title, record.text) == ("Tides", "Tides\n\nThe moon pulls the sea twice a day.")


def test_an_empty_shell_marked_as_main_is_not_believed() -> None:
    page = "<main></main><p>All the text of this page stands outside of what is marked.</p>"
    assert html.read(page.encode(), "a.html").text == "All the text of this page stands outside of what is marked."


def test_a_row_has_the_headings_of_its_columns() -> None:
    body = (
        "<p>Types:</p><table><thead><tr><th>Name</th><th>Storage Size</th><th>Range</th></tr></thead>"
        "<tr><td>smallint</td><td>2 bytes</td><td>-32768 to +32767</td></tr>"
        "<tr><td>bigint</td><td>8 bytes</td><td></td></tr></table>"
    )
    assert text_of(body).splitlines()[-2:] == [
        "smallint | Storage Size: 2 bytes | Range: -32768 to +32767",
        "bigint | Storage Size: 8 bytes",
    ]


def test_a_table_without_headings_has_none_put_in() -> None:
    assert text_of("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>") == "a | b\nc | d"


def test_a_term_stands_with_its_definition() -> None:
    body = (
        "<p>Words:</p><dl><dt>--prune</dt><dd>Removes what has gone.</dd><dt>-q</dt><dt>--quiet</dt><dd>No word.</dd>"
    )
    assert text_of(body) == "Words:\n\n--prune\nRemoves what has gone.\n\n-q\n--quiet\nNo word."


def test_the_defining_first_line_of_a_manual_page_is_kept() -> None:
    links = "".join(f'<li><a href="{n}">git-{n}(1)</a></li>' for n in range(9))
    body = f"<h2>NAME</h2><p>git-rebase - Reapply commits on top of another base tip</p>{PARAGRAPHS}<ul>{links}</ul>"
    assert "Reapply commits on top" in text_of(body)
    assert "git-3(1)" not in text_of(body)


def test_a_page_of_links_is_what_it_is() -> None:
    links = "".join(f'<li><a href="{n}">Chapter {n} of the whole</a></li>' for n in range(9))
    assert "Chapter 3 of the whole" in text_of(f"<h1>Contents</h1><ul>{links}</ul>")
