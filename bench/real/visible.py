"""What a person sees of a document, taken without wherefrom's own readers, so that questions do not depend on these.

HTML by the standard library's parser, PDF by `pdftotext`, Markdown without the addresses of its links.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path

_HIDDEN = ("script", "style", "head")
_BLOCKS = frozenset("p div li tr td th h1 h2 h3 h4 h5 h6 br dt dd pre table ul ol blockquote".split())
_ADDRESS = re.compile(r"(?<=\])\([^()\s]*(?:\s+\"[^\"]*\")?\)|(?<=\])\[[^\]\[]*\]|<https?://[^>]*>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_UNSEEN = re.compile(
    r"^ {0,3}\[[^\]\n]+\]:[^\n]*$|<!--.*?-->", re.MULTILINE | re.DOTALL
)  # where links lead to; comments
_WORD = re.compile(r"\w+")


class PdfReaderMissing(Exception):
    """There is no `pdftotext` on this machine."""


def visible_text(path: Path) -> str:
    """The text of a file as its reader sees it; white space means nothing."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    kind = Path(path.name.removesuffix(".gz")).suffix.lower()
    if kind == ".pdf":
        return _pdf(data)
    text = data.decode("utf-8", "replace")
    if kind in (".html", ".htm"):
        page = _Page()
        page.feed(text)
        page.close()
        return "".join(page.pieces)
    return _TAG.sub(" ", _ADDRESS.sub(" ", _UNSEEN.sub(" ", text))) if kind == ".md" else text


@lru_cache(maxsize=1 << 12)
def words(text: str) -> str:
    """The words of a text in lower case with one blank between them: what quotes are compared by."""
    mended = text.replace("\u00ad", "").replace("ﬁ", "fi").replace("ﬂ", "fl").replace("ﬀ", "ff")
    return " ".join(word.replace("_", " ").strip() for word in _WORD.findall(mended.casefold()))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        if tag in _HIDDEN:
            self._hidden += 1
        if tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        if tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def _pdf(data: bytes) -> str:
    if shutil.which("pdftotext") is None:
        raise PdfReaderMissing("`pdftotext` (of Poppler) is needed to see what stands in a PDF")
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(data)
        file.flush()
        done = subprocess.run(["pdftotext", file.name, "-"], capture_output=True, check=True)
    return re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", done.stdout.decode("utf-8", "replace"))
