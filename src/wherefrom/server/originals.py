"""GET /originals/ID: the page of a PDF file on which a place of its text stands, drawn, the place marked."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from wherefrom.errors import NotFound
from wherefrom.ingest.original import digest_of
from wherefrom.server.drawing_child import WantedPage
from wherefrom.server.kept_files import KeptFiles
from wherefrom.server.problems import HTTPProblem
from wherefrom.server.state import ServerState

router = APIRouter()

_AT_ONCE = 2  # processes that draw; others wait
_SECONDS = 15  # for one page
_MEGABYTES = 768  # of the process that draws it
_WAITING = 16  # pages that are wanted and not drawn yet; one more is told to come back
_KEPT_BYTES = 16_000_000  # of pages that were drawn: going back to one costs nothing
_AROUND = 400  # characters on each side of a place, by which it is known on its page
_LONGEST_QUOTE = 2000

_START = "import sys; from wherefrom.server.drawing_child import main; main(*map(int, sys.argv[1:]))"
_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The page. `X-Page` is its number, `X-Pages` how many there are, `X-Mark-Top` how far down the "
        "marked place begins, from 0 to 1.",
        "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class Drawings:
    """Draws pages, a few at a time, and keeps the latest."""

    def __init__(self, start: str = _START, seconds: float = _SECONDS) -> None:
        self._start, self._seconds = start, seconds
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._under_way = 0
        self._kept: OrderedDict[tuple[bytes, WantedPage], tuple[dict[str, Any], bytes]] = OrderedDict()

    async def draw(self, data: bytes, wanted: WantedPage) -> tuple[dict[str, Any], bytes]:
        key = (digest_of(data), wanted)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if self._under_way >= _WAITING:
            raise HTTPProblem(503, "too-many-pages", "too many pages are being drawn", {"Retry-After": "2"})
        self._under_way += 1
        try:
            async with self._turns:
                facts, picture = await self._drawn(data, wanted)
        finally:
            self._under_way -= 1
        if picture:
            self._kept[key] = facts, picture
        while sum(len(picture) for _, picture in self._kept.values()) > _KEPT_BYTES:
            self._kept.popitem(last=False)
        return facts, picture

    async def _drawn(self, data: bytes, wanted: WantedPage) -> tuple[dict[str, Any], bytes]:
        """Have a process of its own draw it, and end that process whatever happens."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", self._start, str(_MEGABYTES), str(math.ceil(self._seconds)),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            head = json.dumps(asdict(wanted)).encode() + b"\n"
            output, _ = await asyncio.wait_for(process.communicate(head + data), self._seconds)
            line, _, picture = output.partition(b"\n")
            return json.loads(line), picture
        except (TimeoutError, ValueError, BrokenPipeError, ConnectionResetError):
            return {"trouble": "damaged"}, b""  # it took too long, or needed too much
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


@router.get(
    "/originals/{id:path}",
    summary="A page of the PDF file that a document was read from",
    tags=["documents"],
    response_class=Response,
    responses=_PICTURE,
)
async def get_page(
    request: Request,
    id: str,
    start: Annotated[int, Query(ge=0, le=2**31, description="A place of the document, in characters: marked.")] = 0,
    end: Annotated[int, Query(ge=0, le=2**31)] = 0,
    page: Annotated[int | None, Query(ge=1, le=100_000, description="The page; without it, that of the place.")] = None,
    width: Annotated[int, Query(ge=100, le=2000, description="In pixels.")] = 1000,
) -> Response:
    """Only where the file lies where it was when it was ingested, unchanged. Those that are sent are kept."""
    state: ServerState = request.app.state.server
    drawings: Drawings = request.app.state.drawings

    def read() -> tuple[bytes, WantedPage]:
        text = state.library.document(id).text
        at, to = min(start, len(text)), min(end, len(text), start + _LONGEST_QUOTE)
        if at >= to and page is None:
            to = min(len(text), at + 200)  # no place: that of the text's first words, at its start or where it is cut
        quote, before, after = text[at:to], text[max(0, at - _AROUND) : at], text[to : to + _AROUND]
        share = at / len(text) if text else 0.0
        return state.library.original(id, KeptFiles(state.library.path).folder), WantedPage(
            width, page, quote, before, after, share
        )

    data, wanted = await state.off_loop(read)
    if b"%PDF-" not in data[:1024]:
        raise NotFound(f"'{id}' has no pages to show: it was not read from a PDF file")
    facts, picture = await drawings.draw(data, wanted)
    if trouble := facts.get("trouble"):
        raise NotFound(f"that page of '{id}' cannot be shown: {_TROUBLES[trouble]}")
    headers = {"X-Page": str(facts["page"]), "X-Pages": str(facts["pages"]), "X-Mark-Top": f"{facts['top']:.4f}"}
    return Response(picture, media_type="image/png", headers=headers)


_TROUBLES = {"no page": "it is not among those of the file", "damaged": "the file, or the page, is damaged"}
