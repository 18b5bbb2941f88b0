"""Pictures: what is written on them, a page each."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

from wherefrom.errors import IngestError
from wherefrom.ingest.ocr import REMEDY, PictureReader, unread
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import readable_name
from wherefrom.types import Place

_MOST_PIXELS = 100_000_000  # of a page; A3 in 600 dots an inch has 70 million
_LARGE = 2_500  # pixels of the longer side, to which larger pages are made smaller: letters are still large enough
_TO_BE_READ = 1_000  # pixels of the longer side; on smaller pictures, such as icons, nobody expects writing
_WORD = re.compile(r"\w{2,}")
_FEWEST_WORDS = 2  # on a page; the ticks of an axis, or a line taken for a letter, tell nothing
_DAMAGED = "it is damaged, or not a picture of a kind that is read"


def read(data: bytes, name: str, pictures: PictureReader | None) -> Record:
    """The writing on a picture, or on each page of a .tif; empty where there is none and none is to be expected."""
    if pictures is None:
        raise IngestError(f"it is a picture; {REMEDY}")
    pieces: list[str] = []
    places: list[Place] = []
    complaints: list[tuple[str, str]] = []
    length, largest = 0, 0
    with _opened(data) as picture:
        pages: int = getattr(picture, "n_frames", 1)
        for page in range(1, pages + 1):
            if not pictures.has_time:
                complaints.append(unread(page, pages))
                break
            shown = _page(picture, page)
            largest = max(largest, *shown.shape[:2])
            text = "\n".join(pictures.lines(shown)).replace("\n\n\n", "\n\n")
            if len(_WORD.findall(text)) >= _FEWEST_WORDS:
                length += 2 if pieces else 0
                if pages > 1:
                    places.append(Place(length, f"page {page}", page))
                pieces.append(text)
                length += len(text)
    if not pieces and not complaints and largest >= _TO_BE_READ:
        raise IngestError("no writing was seen on it")
    return Record(None, readable_name(name), "\n\n".join(pieces), places=tuple(places), complaints=tuple(complaints))


def _opened(data: bytes) -> Any:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "TIFF", "WEBP", "BMP"))
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise IngestError(f"it has more than {_MOST_PIXELS:,} pixels") from error
    except Exception as error:  # on a broken picture Pillow raises whatever it trips over
        raise IngestError(_DAMAGED) from error
    return picture


def _page(picture: Any, page: int) -> Any:
    """The pixels of a page, upright, and not more of them than letters need."""
    import numpy
    from PIL import ImageOps

    try:
        picture.seek(page - 1)
        width, height = picture.size
        if width * height > _MOST_PIXELS:
            raise IngestError(f"it has more than {_MOST_PIXELS:,} pixels")
        frame = ImageOps.exif_transpose(picture).convert("RGBA")
        frame.thumbnail((_LARGE, _LARGE))
        return numpy.asarray(_on_white(frame))
    except IngestError:
        raise
    except Exception as error:  # likewise
        raise IngestError(_DAMAGED) from error


def _on_white(frame: Any) -> Any:
    """Without what shines through: black letters on nothing are black on black otherwise."""
    from PIL import Image

    paper = Image.new("RGB", frame.size, "white")
    paper.paste(frame, mask=frame.getchannel("A"))
    return paper
