"""For `make site`: a link that leads out of docs/ names its file instead, since the site holds the pages alone."""

from __future__ import annotations

import re

_OUT = re.compile(r"\[([^\]]*)\]\((?:\.\./)+((?:bench|runs|src)/[^)#\s]*)[^)]*\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by mkdocs for each page (`hooks` in mkdocs.yml)."""
    return _OUT.sub(r"\1 (`\2` in the repository)", markdown)
