"""How many words of scanned pages are read right: the sample's PDF files, made into soft, grey, slanted pictures."""

from __future__ import annotations

import difflib
import io
import re
import time
from pathlib import Path

import numpy
import pypdfium2
from PIL import Image, ImageFilter

from wherefrom.ingest.ocr import PictureReader

_SAMPLE = Path(__file__).parents[1] / "sample" / "library"
_DOTS = 150  # an inch


def main() -> None:
    reader = PictureReader(float("inf"))
    begun = time.process_time()
    pages = words = right = extra = 0
    for path in sorted(_SAMPLE.rglob("*.pdf")):
        for page in pypdfium2.PdfDocument(path):
            written = re.findall(r"\w+", re.sub("\ufffe\\s*", "", page.get_textpage().get_text_range()))
            read = re.findall(r"\w+", " ".join(reader.lines(numpy.asarray(_scanned(page)))))
            matches = difflib.SequenceMatcher(None, written, read, autojunk=False).get_matching_blocks()
            same = sum(match.size for match in matches)
            pages, words, right, extra = pages + 1, words + len(written), right + same, extra + len(read) - same
    seconds = (time.process_time() - begun) / pages
    print(f"{pages} pages, {words} words: {right} right and in order ({right / words:.1%}), {extra} wrong or too many")
    print(f"{seconds:.1f} s of CPU a page")


def _scanned(page: pypdfium2.PdfPage) -> Image.Image:
    """As a scanner gives it to a fax machine."""
    sharp = page.render(scale=_DOTS / 72).to_pil().convert("L")
    slanted = sharp.rotate(0.5, fillcolor=255, resample=Image.Resampling.BILINEAR)
    packed = io.BytesIO()
    slanted.filter(ImageFilter.GaussianBlur(0.6)).save(packed, "JPEG", quality=60)
    return Image.open(packed).convert("RGB")


if __name__ == "__main__":
    main()
