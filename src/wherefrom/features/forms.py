"""What DrQA's reader sees of a token: its forms, which of them the question has, how often it stands in its passage.

The third form is the stem where Chen et al. take the lemma: stems need no model.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wherefrom.text import Span

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_threads = threading.local()  # a Snowball stemmer must not be shared between threads


class Form(NamedTuple):
    """A token as it is written, in small letters, and cut to its stem."""

    written: str
    small: str
    stem: str


def forms(text: str, spans: Sequence[Span]) -> list[Form]:
    """The forms of a text's tokens."""
    written = [text[start:end] for start, end in spans]
    small = [token.lower() for token in written]
    return [Form(*three) for three in zip(written, small, stems(small), strict=True)]


def stems(small: Sequence[str]) -> list[str]:
    """English stems of words in small letters."""
    if not hasattr(_threads, "stemmer"):
        import Stemmer

        _threads.stemmer = Stemmer.Stemmer("english")
    cut: list[str] = _threads.stemmer.stemWords(list(small))
    return cut


def exact_match(question: Sequence[Form], passage: Sequence[Form]) -> NDArray[numpy.float32]:
    """(tokens, 3): 1 where the question has a token of the same form, 0 elsewhere."""
    import numpy

    question_forms = [{form[kind] for form in question} for kind in range(3)]
    return numpy.array(
        [[form[kind] in question_forms[kind] for kind in range(3)] for form in passage], numpy.float32
    ).reshape(-1, 3)


def term_frequency(passage: Sequence[Form]) -> NDArray[numpy.float32]:
    """(tokens,): the share of the passage's tokens that are the same word."""
    import numpy

    counts = Counter(form.small for form in passage)
    return numpy.array([counts[form.small] / len(passage) for form in passage], numpy.float32)
