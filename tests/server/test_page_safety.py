"""Hostile documents in a real browser: whatever a document, a name, an address or a store says, nothing of it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

pytest.importorskip("playwright", reason="`pip install 'wherefrom[dev]'` brings playwright")

from playwright.sync_api import FilePayload, expect

from server.browsing import Open, answer_of, ask, browser, library_at, opened, serving_page
from wherefrom.types import Document

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page

__all__ = ["browser", "opened"]  # fixtures

HACK = "window.hacked = true; alert(1)"
TAGS = (
    f"<script>{HACK}</script><img src=x onerror='{HACK}'><svg onload='{HACK}'></svg>"
    f'<iframe srcdoc="<script>parent.hacked = true</script>"></iframe><a href="javascript:{HACK}">key</a>'
    f"<style>* {{ display: none }}</style><base href='//evil.example/'></div></textarea></title>{{{{7*7}}}}${{{HACK}}}"
)
TITLE = f'"><img src=x onerror="{HACK}"><script>{HACK}</script>'
ID = f"javascript:{HACK}//<svg onload='{HACK}'>.txt"
OVERRIDE = "\u202egpj.exe\u202c\u2066"
TEXT = f"The hostile key of the castle is {TAGS} under the mat.\n\nIts name is {OVERRIDE} and it is bidirectional."


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    library = library_at(tmp_path_factory.mktemp("hostile") / "library")
    library.put([Document(ID, TEXT, TITLE), Document(f"a{OVERRIDE}b.txt", "A bidirectional name.", f"Safe {OVERRIDE}")])
    with serving_page(library) as address:
        yield address


def watched(page: Page) -> list[str]:
    """What the page should never do, noted as it happens."""
    seen: list[str] = []

    def dialog_opened(dialog: Dialog) -> None:
        seen.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dialog_opened)
    page.on("request", lambda request: seen.append(request.url) if "evil.example" in request.url else None)
    page.on("popup", lambda popup: seen.append("popup"))
    page.add_init_script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', event => violations.push(event.violatedDirective));"
    )
    return seen


def unharmed(page: Page) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("window.violations") == []  # the policy had nothing to stop
    ours = "img:not([src='icon.svg']), svg:not(.icon), .icon :not(path)"
    strange = f"{ours}, script, iframe, style, base, object, embed, link, [srcdoc], [onerror], [onload]"
    assert page.locator("body").locator(strange).count() == 0
    assert page.locator("head script").count() == 2
    links = page.evaluate("[...document.querySelectorAll('a')].map(link => link.getAttribute('href'))")
    assert [link for link in links if not link.startswith(("#", "openapi.json"))] == []


@pytest.mark.parametrize("policy", [True, False], ids=["with the policy", "without it"])
def test_hostile_documents_are_shown_and_do_nothing(hostile: str, opened: Open, policy: bool) -> None:
    """Also where the browser has no content policy: the page is safe by itself."""
    page = opened("about:blank", bypass_csp=not policy)
    seen = watched(page)
    page.goto(hostile)
    page.get_by_label("a passage").check()
    ask(page, "Where is the hostile key of the castle?")
    assert TAGS in answer_of(page)
    for word in page.locator(".answer .word").all()[:12]:
        word.focus()
        unharmed(page)
    assert "<img src=x" in (page.locator(".where").text_content() or "")
    page.get_by_role("link", name="Open the document at this word").click()
    expect(page.locator("#viewer-title")).to_have_text(TITLE)
    assert page.locator("#viewer-text").text_content() == TEXT
    unharmed(page)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="History").click()
    unharmed(page)
    page.get_by_role("link", name="Documents").click()
    expect(page.locator("#documents-list > li")).to_have_count(2)
    name = f"<img src=x onerror='{HACK.replace('/', '')}'>.md"
    page.get_by_label("Add files").set_input_files([FilePayload(name=name, mimeType="text/html", buffer=TEXT.encode())])
    expect(page.locator("#uploads > li")).to_contain_text("Done: 1 document")
    unharmed(page)
    page.locator("#documents-list > li", has_text="<img src=x onerror='").get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    unharmed(page)
    page.get_by_role("dialog").get_by_role("button", name="Remove it").click()
    expect(page.locator("#documents-list > li")).to_have_count(2)
    unharmed(page)
    assert seen == []


def test_names_cannot_turn_the_order_of_letters_around(hostile: str, opened: Open) -> None:
    page = opened(f"{hostile}/#/documents")
    expect(page.locator("#documents-list > li")).to_have_count(2)
    shown = page.locator("#documents-list").text_content() or ""
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert "Safe \ufffdgpj.exe\ufffd\ufffd" in shown
    page.get_by_role("link", name="Safe").click()
    expect(page.locator("#viewer-text")).to_have_text("A bidirectional name.")
    # In a document's text they stay, since offsets count them, but they end where the text does.
    page.goto(f"{hostile}/#/document/{quote(ID, safe='')}")
    expect(page.locator("#viewer-title")).to_have_text(TITLE)
    isolated = page.locator("#viewer .piece").first.evaluate("piece => getComputedStyle(piece).unicodeBidi")
    assert isolated in ("plaintext", "isolate")


@pytest.mark.parametrize(
    "hash",
    [
        f"#/document/{TITLE}",
        "#/document/%E0%A4%A",
        "#/document/x?at=9-1,5,-,99999999999-2",
        "#/document/..%2F..%2Fetc%2Fpasswd",
        f"#/{TAGS}",
        "#__proto__",
        "#/document/" + "%00" * 10,
    ],
)
def test_hostile_addresses_lead_nowhere(hostile: str, opened: Open, hash: str) -> None:
    page = opened("about:blank", bypass_csp=True)
    seen = watched(page)
    page.goto(f"{hostile}/{hash}")
    expect(page.locator("#library")).to_contain_text("2 documents")
    unharmed(page)
    assert seen == []


def test_what_others_put_into_the_browser_s_store_does_nothing(hostile: str, opened: Open) -> None:
    page = opened("about:blank", bypass_csp=True)
    seen = watched(page)
    page.goto(hostile)
    for stored in (
        json.dumps([{"question": TITLE, "answer": {}, "style": [], "chance": TITLE, "when": TITLE}, 5]),
        "{",
        '{"length": 3}',
    ):
        page.evaluate("stored => localStorage.setItem('wherefrom.history', stored)", stored)
        page.evaluate("localStorage.setItem('wherefrom.theme', '<script>')")
        page.goto(f"{hostile}/#/history")
        page.reload()
        expect(page.locator("#history-list > li").first).to_be_visible()
        unharmed(page)
    assert seen == []


def test_the_page_has_no_way_to_make_markup_of_text() -> None:
    """Asked of the source, since a test can only try so many documents."""
    folder = Path(__file__).parents[2] / "src" / "wherefrom" / "server" / "page"
    forbidden = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
        "createContextualFragment",
        "setHTML",
        "srcdoc",
        "http://",
        "https://",
    )
    for path in [*folder.rglob("*.js"), folder / "index.html"]:
        text = path.read_text(encoding="utf-8")
        assert [name for name in forbidden if name in text] == [], path.name
        assert " on" + "click=" not in text
        assert " style=" not in text
