"""Every system by name; each is loaded when it is asked for."""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from wherefrom.errors import NotFound, WherefromError
from wherefrom.systems.contract import About, System

SYSTEMS = {  # in the order of `wherefrom train --help`
    "reader": "wherefrom.systems.reader",
    "skim": "wherefrom.systems.skim",
    "judge": "wherefrom.systems.judge",
    "yes-no": "wherefrom.systems.yes_no",
    "writer": "wherefrom.systems.writer",
    "fluency": "wherefrom.systems.fluency",
    "matcher": "wherefrom.systems.matcher",
    "embedder": "wherefrom.systems.embedder",
    "followup": "wherefrom.systems.followup",
    "selector": "wherefrom.systems.selector",
    "asker": "wherefrom.systems.asker",
    "tagger": "wherefrom.systems.tagger",
    "cete": "wherefrom.systems.cete",
    "qasa": "wherefrom.systems.qasa",
    "drqa": "wherefrom.systems.drqa",
    "rankqa": "wherefrom.systems.rankqa",
    "masque": "wherefrom.systems.masque",
    "bertsum": "wherefrom.systems.bertsum",
    "pqsum": "wherefrom.systems.pqsum",
}


def about(name: str) -> About:
    """What is known of a system; loads neither torch nor numpy."""
    return cast(About, import_module(f"{_package(name)}.about").ABOUT)


def load(name: str) -> System:
    """The system itself, if what it needs is installed."""
    check_extra(about(name).needs)
    return cast(System, import_module(f"{_package(name)}.system"))


def check_extra(needs: tuple[str, ...]) -> None:
    """An error that says how to install what training needs, where it is not."""
    missing = [module for module in needs if find_spec(module) is None]
    if missing:
        raise WherefromError(f"training needs {', '.join(missing)}; install them with pip install 'wherefrom[train]'")


def _package(name: str) -> str:
    if name not in SYSTEMS:
        close = difflib.get_close_matches(name, SYSTEMS, n=1)
        guess = f"; did you mean {close[0]}?" if close else "; there are " + ", ".join(SYSTEMS)
        raise NotFound(f"there is no system '{name}'{guess}")
    return SYSTEMS[name]
