"""The pages of PDF files as they are: which files are drawn and which never, what is marked, what a bad one costs."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from server.browsing import library_at
from server.conftest import LOCAL
from wherefrom import Library
from wherefrom.config import ServerSettings
from wherefrom.server.app import create_app
from wherefrom.server.drawing_child import MOST_PIXELS, Quote, WantedPage, drawn, squeezed
from wherefrom.server.folder import ServerFolder
from wherefrom.server.keys import Keys
from wherefrom.server.originals import Drawings

fpdf = pytest.importorskip("fpdf", reason="`pip install 'wherefrom[dev]'` brings fpdf2")

MARK = (255, 228, 120)


def pdf(*pages: str, size: tuple[float, float] = (210, 297)) -> bytes:
    document = fpdf.FPDF(format=size)
    document.set_font("helvetica", size=12)
    for text in pages:
        document.add_page()
        if text:
            document.multi_cell(0, 6, text)
    return bytes(document.output())


def book(number: int) -> str:
    return f"Chapter {number}\n\nThe pump of house {number} is painted every spring. The key hangs in hall {number}."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "book.pdf").write_bytes(pdf(*(book(number) for number in range(1, 8))))
    (folder / "notes.md").write_text("# Notes\n\nThe cellar is dry.\n")
    return folder


@pytest.fixture
def library(folder: Path, tmp_path: Path) -> Library:
    library = library_at(tmp_path / "library")
    library.ingest([folder])
    return library


@pytest.fixture
def client(library: Library) -> Iterator[TestClient]:
    with TestClient(create_app(library, ServerSettings()), LOCAL, raise_server_exceptions=False) as client:
        yield client


def place(library: Library, id: str, text: str) -> dict[str, int]:
    start = library.document(id).text.index(text)
    return {"start": start, "end": start + len(text)}


def marked(picture: bytes) -> list[tuple[int, int]]:
    """Where the picture has the colour of a mark."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    pixels = image.load()
    assert pixels is not None
    return [(x, y) for x in range(image.width) for y in range(image.height) if pixels[x, y] == MARK]


def test_the_page_of_a_place_is_drawn_and_the_place_marked(client: TestClient, library: Library) -> None:
    page = client.get(
        "/originals/book.pdf", params={**place(library, "book.pdf", "The key hangs in hall 5"), "width": 600}
    )
    assert page.status_code == 200
    assert page.headers["content-type"] == "image/png"
    assert (page.headers["x-page"], page.headers["x-pages"]) == ("5", "7")
    image = Image.open(io.BytesIO(page.content))
    assert 590 <= image.width <= 610
    spots = marked(page.content)
    assert min(y for _, y in spots) == pytest.approx(float(page.headers["x-mark-top"]) * image.height, abs=3)
    assert len({y for _, y in spots}) < 30, "one line, and not the whole page"
    assert client.get("/documents/book.pdf").json()["original"] == "pdf"
    assert client.get("/documents/notes.md").json()["original"] is None


def test_other_pages_are_had_by_their_number(client: TestClient, library: Library) -> None:
    second = client.get("/originals/book.pdf", params={"page": 2, **place(library, "book.pdf", "hall 5"), "width": 200})
    assert second.headers["x-page"] == "2"
    assert marked(second.content) == [], "the place is on another page"
    assert client.get("/originals/book.pdf").headers["x-page"] == "1"
    beyond = client.get("/originals/book.pdf", params={"page": 8})
    assert beyond.status_code == 404
    assert "it is not among those of the file" in beyond.json()["detail"]


def test_only_files_that_are_what_was_read_are_shown(client: TestClient, library: Library, folder: Path) -> None:
    assert "was not read from a PDF file" in client.get("/originals/notes.md").json()["detail"]
    for id in ("nothing.pdf", "../files/book.pdf", "%2Fetc%2Fpasswd", str(folder / "book.pdf")):
        assert client.get(f"/originals/{id}").status_code == 404
    whole = (folder / "book.pdf").read_bytes()
    (folder / "book.pdf").write_bytes(pdf("Something private that was never read"))
    changed = client.get("/originals/book.pdf")
    assert changed.status_code == 404
    assert changed.json()["detail"] == "the file of 'book.pdf' cannot be shown: it has changed since; ingest it again"
    (folder / "book.pdf").unlink()
    assert "it is not where it was any more" in client.get("/originals/book.pdf").json()["detail"]
    assert str(folder) not in client.get("/originals/book.pdf").text
    assert client.get("/documents/book.pdf").json()["original"] is None
    (folder / "book.pdf").write_bytes(whole)
    assert client.get("/originals/book.pdf").status_code == 200


def test_a_pdf_file_that_was_sent_is_kept_as_long_as_its_document(client: TestClient, library: Library) -> None:
    kept = library.path / "server" / "originals"
    send = [("files", ("sent.pdf", pdf("The well is deep."))), ("files", ("notes.txt", b"The well is dry."))]
    assert client.post("/documents?wait=20", files=send).json()["state"] == "done"
    assert kept.stat().st_mode & 0o077 == 0, "only its owner may look inside"
    assert len(list(kept.iterdir())) == 1, "of other files the text is enough"
    assert client.get("/documents/sent.pdf").json()["original"] == "pdf"
    assert client.get("/documents/notes.txt").json()["original"] is None
    page = client.get("/originals/sent.pdf", params=place(library, "sent.pdf", "well"))
    assert page.headers["x-page"] == "1"
    assert marked(page.content)
    client.post("/documents?wait=20", files={"files": ("sent.pdf", pdf("The other well."))})
    assert len(list(kept.iterdir())) == 1, "the one it replaced has gone"
    client.delete("/documents/sent.pdf?wait=20")
    assert list(kept.iterdir()) == []
    client.post("/documents?wait=20", files={"files": ("sent.pdf", pdf("A third well."))})
    for path in kept.iterdir():
        path.unlink()
    assert (
        client.get("/originals/sent.pdf").json()["detail"]
        == "of the document 'sent.pdf' the library has the text alone"
    )


def test_a_pdf_file_that_cannot_be_read_is_not_kept(client: TestClient, library: Library) -> None:
    client.post("/documents?wait=20", files={"files": ("broken.pdf", b"%PDF-1.7 and then nothing")})
    kept = library.path / "server" / "originals"
    assert not kept.exists() or list(kept.iterdir()) == []


def test_a_key_that_may_read_is_needed_where_there_are_keys(client: TestClient, library: Library) -> None:
    key = Keys(ServerFolder(library.path)).add("reader", "read")
    assert client.get("/originals/book.pdf").status_code == 401
    assert client.get("/originals/book.pdf", headers={"Authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.parametrize("at", [{"start": -1}, {"width": 5000}, {"page": 0}, {"start": "x"}, {"end": 2**40}])
def test_bounds_are_kept(client: TestClient, at: dict[str, object]) -> None:
    assert client.get("/originals/book.pdf", params=at).status_code == 422  # type: ignore[arg-type]


def test_a_page_of_any_size_makes_a_bounded_picture() -> None:
    facts, picture = drawn(pdf(""), WantedPage(2000))
    assert facts["trouble"] == "no page", "there is no place to look for, and no number"
    for size in ((5000, 20), (20, 5000), (5000, 5000)):
        facts, picture = drawn(pdf("", size=size), WantedPage(2000, page=1))
        width, height = Image.open(io.BytesIO(picture)).size
        assert width * height <= MOST_PIXELS * 1.01
        assert width <= 2001


@pytest.mark.parametrize("data", [b"%PDF-1.7\nand then nothing", b"%PDF-", pdf("cut off")[:300]])
def test_damaged_files_are_told_to_be_damaged(data: bytes) -> None:
    assert drawn(data, WantedPage(300, page=1)) == ({"trouble": "damaged"}, b"")


def test_a_process_that_takes_too_long_or_dies_is_ended() -> None:
    begun = time.monotonic()
    for start in ("import time; time.sleep(60)", "import os; os.abort()", "print('no JSON')"):
        facts, picture = asyncio.run(Drawings(start, 0.5).draw(b"%PDF-", WantedPage(300)))
        assert (facts, picture) == ({"trouble": "damaged"}, b"")
    assert time.monotonic() - begun < 20


def test_only_letters_count_and_the_surroundings_tell_equal_places_apart() -> None:
    assert squeezed("The ﬁrst co-\noperation, № 5") == "thefirstcooperationno5"
    letters = squeezed("In May the pump was red. In June the pump was green.")
    here = Quote("the pump", "In June ", " was green")
    at = here.within(letters)
    assert at is not None
    assert letters[: at[0]].endswith("june")
    assert Quote("the lamp", "", "").within(letters) is None
