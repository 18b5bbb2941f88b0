"""Finds what the default settings do without: in a checkout beside the code, else in the package wherefrom-lab."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from wherefrom.errors import WherefromError

PACKAGE = "wherefrom_lab"
REMEDY = "pip install wherefrom-lab"
OWN = Path(__file__).parent


class LabMissing(WherefromError):
    """A file of the laboratory is wanted that is not installed; the message names it and the remedy."""

    exit_code = 3


def lab_folder() -> Path | None:
    """Where wherefrom-lab is installed, if it is; nothing of it is imported."""
    spec = find_spec(PACKAGE)
    places = (spec.submodule_search_locations if spec else None) or []
    return next((Path(place) for place in places), None)


def lab_places(name: str) -> list[Path]:
    """Where a part of the laboratory may lie, such as "weights/drqa" or "papers": those places that there are."""
    folder = lab_folder()
    places = [OWN / name] if folder is None else [OWN / name, folder / name]
    return [place for place in places if place.exists()]


def lab_file(name: str) -> Path:
    """A file or folder of the laboratory, named as it lies in a checkout's src/wherefrom."""
    places = lab_places(name)
    if not places:
        raise LabMissing(f"{name} is in the package wherefrom-lab: {REMEDY}")
    return places[0]
