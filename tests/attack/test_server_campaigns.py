"""The campaigns against the server, each for a few seconds; and each of them notices what it is there to notice."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("psutil", reason="`pip install 'wherefrom[dev]'` brings psutil")
pytest.importorskip("mcp", reason="`pip install 'wherefrom[server]'` brings mcp")

from attack.campaign import Campaign, Outcome
from bench.browser import NoBrowser, chromium
from bench.measure import ROOT

from attack import guard, load, pages, requests, soak
from wherefrom.server.app import openapi

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def kinds(outcome: Outcome) -> list[str]:
    return [broke.kind for broke in outcome.broke]


def held(campaign: Campaign, work: Path, size: float) -> dict[str, Any]:
    """A share of one attempt, in a process of its own, in which nothing gives way; its figures."""
    command = [sys.executable, "-m", "attack", "--only", campaign.name, "--scale", str(1 / campaign.attempts)]
    command += ["--size", str(size), "--work", str(work)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    line: dict[str, Any] = msgspec.json.decode((work / "attack.jsonl").read_bytes())
    return line


def test_odd_requests_are_refused_or_answered(tmp_path: Path) -> None:
    assert held(requests.ODD_REQUESTS, tmp_path, 0.02)["n"] >= 40


def test_only_who_may_comes_in(tmp_path: Path) -> None:
    assert held(guard.GUARD, tmp_path, 0.05)["n"] >= 25


# Odd requests.


def test_every_route_of_the_schema_is_attacked() -> None:
    described = openapi()
    maker = requests.Maker(random.Random(1), described, ["a"], [])
    sent = [maker.request().data for _ in range(3000)]
    for path, operations in described["paths"].items():
        begin = path.partition("{")[0]
        for method in operations:
            line = f"{method.upper()} {begin}".encode()
            assert any(data.startswith(line) for data in sent), line


def test_the_same_seed_makes_the_same_requests() -> None:
    described = openapi()
    first, second = (requests.Maker(random.Random(7), described, ["a"], ["wf_x"]) for _ in range(2))
    assert [first.request() for _ in range(300)] == [second.request() for _ in range(300)]


def test_a_response_of_500_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [
        (500, b"{}"),
        (200, b'event: error\ndata: {"title": "x", "status": 500}\n\n'),
        (0, b""),
        (503, b"{}"),
        (404, b""),
    ]
    monkeypatch.setattr(requests, "_exchanged", lambda *_: answers.pop(0))
    outcome = Outcome()
    for _ in range(5):
        requests._judged(1, requests.Sent("bent", b"GET / HTTP/1.1\r\n\r\n"), outcome)
    assert kinds(outcome) == [
        "status 500 (bent)",
        "an error of 500 in a stream (bent)",
        "no answer to a whole request (bent)",
    ]


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        (b'{"jsonrpc":"2.0","id":3,"method":"ping"}', True),
        (b'{"jsonrpc":"2.0","id":3,"method":"\\ud800"}', True),
        (b'{"jsonrpc":"2.0","method":"ping"}', False),
        (b'{"jsonrpc":"2.0","id":3.0,"method":"ping"}', False),
        (b"[1]", False),
        (b'{"id":3', False),
    ],
)
def test_who_waits_for_an_answer_over_mcp_is_known(line: bytes, waits: bool) -> None:
    assert requests._is_request(line, 3) == waits


# Who may come in.


@pytest.mark.parametrize(
    ("expected", "status", "head", "body", "noticed"),
    [
        (401, 200, "", b"", "200 where 401 should be"),
        (0, 403, "", b"", "403 where somebody should be let in"),
        (0, 200, "\r\naccess-control-allow-origin: *", b"", "an answer that other pages may read"),
        (0, 200, "", b"wf_secret", "an answer with a key in it"),
        (0, 404, "", b"", ""),
    ],
)
def test_a_hole_in_the_guard_would_be_noticed(expected: int, status: int, head: str, body: bytes, noticed: str) -> None:
    outcome = Outcome()
    safe = "".join(f"\r\n{name}: x" for name in guard.NEEDED_HEADERS)
    answer = (status, f"HTTP/1.1 {status} X{safe}{head}", body)
    guard._judged(guard.Visit(b"", expected, ""), answer, {"read": "wf_secret"}, outcome)
    assert kinds(outcome) == ([noticed] if noticed else [])


def test_an_answer_without_its_safety_headers_would_be_noticed() -> None:
    outcome = Outcome()
    guard._judged(guard.Visit(b"", 0, ""), (200, "HTTP/1.1 200 OK\r\nx-frame-options: DENY", b""), {}, outcome)
    assert kinds(outcome) == ["an answer without content-security-policy, x-content-type-options, referrer-policy"]


# Pages.


def test_what_runs_or_leads_elsewhere_would_be_noticed() -> None:
    address = "http://127.0.0.1:1"
    try:
        with chromium() as browser:
            page = browser.new_page()
            seen = pages._watched(page, address)
            page.set_content(
                "<a href='//evil.example/'>x</a><p onclick='1'></p><svg onload='window.hacked=1'></svg><base href='/'>"
            )
            outcome = Outcome()
            pages._judged(page, [*seen, "a dialog: 1"], "", address, outcome)
    except NoBrowser as error:
        pytest.skip(str(error))
    noticed = {
        "a script of a document ran",
        "links in the page",
        "handlers in the page",
        "strange in the page",
        "the page was left",
        "a dialog",
    }
    assert set(kinds(outcome)) == noticed


def test_what_the_page_has_of_its_own_is_nothing_strange() -> None:
    outcome = Outcome()
    try:
        with chromium() as browser:
            page = browser.new_page()
            page.set_content((ROOT / "src/wherefrom/server/page/index.html").read_text(encoding="utf-8"))
            pages._judged(page, [], "", "http://127.0.0.1:1", outcome)
    except NoBrowser as error:
        pytest.skip(str(error))
    assert kinds(outcome) == ["the page was left"]


# Load and long use.


def test_who_waits_too_long_or_is_not_told_when_to_come_back_would_be_noticed() -> None:
    outcome = Outcome()
    good = load.Waited(Counter({200: 2, 503: 1}), [1.0, 2.0], [1.0, 9.0], [0.1])
    load._judged(good, 64, 6.0, outcome)
    assert outcome.broke == []
    assert (outcome.highest["p99 s, 64 clients"], outcome.counts["told to come back, 64 clients"]) == (2.0, 1)
    load._judged(load.Waited(Counter({504: 1}), [], [], [], ["status 504, Retry-After ''"]), 4, 6.0, outcome)
    load._judged(load.Waited(Counter({200: 1}), [40.0], [40.0]), 1, 6.0, outcome)
    assert kinds(outcome) == [
        "4 clients: status 504, Retry-After ''",
        "4 clients: nobody is answered",
        "1 clients: who was let in waits too long",
    ]


@pytest.mark.parametrize(
    ("growth", "files", "noticed"), [(0, 0, []), (100_000, 0, ["memory grows"]), (0, 0.1, ["open files become more"])]
)
def test_what_grows_would_be_noticed(growth: float, files: float, noticed: list[str]) -> None:
    looks = [soak.Look(5.0 * n, int(200e6 + growth * n), int(40 + files * n), 12) for n in range(360)]
    outcome = Outcome()
    soak.judged(looks, outcome)
    assert kinds(outcome) == noticed
    assert outcome.counts["memory, MB an hour"] == pytest.approx(growth * 720 / 1e6, abs=0.01)
