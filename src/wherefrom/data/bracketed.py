"""Sentences with the answer in [brackets], as VQuAnDa and ParaQA write them."""

from __future__ import annotations

import re

_GROUP = re.compile(r"\[([^\[\]]*)\]")
_FORM = re.compile(r"\[\s*answer\s*\]", re.IGNORECASE)


def is_form(verbalised: str) -> bool:
    """Whether it says `[answer]`, which stands for a list too long to write: a form, and no sentence to learn from."""
    return _FORM.search(verbalised) is not None


def unbracketed(verbalised: str) -> tuple[str, str]:
    """The sentence without its brackets, and the answer that stood in them, or "" if there was not just one."""
    text = " ".join(verbalised.split())
    groups = _GROUP.findall(text)
    sentence = text.replace("[", "").replace("]", "")  # stray ones too
    return sentence, groups[0].strip() if len(groups) == 1 else ""
