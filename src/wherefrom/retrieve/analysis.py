"""How texts are cut into the terms that BM25 looks for, of passages and of questions alike."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from wherefrom.retrieve.identifiers import with_names
from wherefrom.text import FUNCTION_WORDS, separated

if TYPE_CHECKING:
    import tantivy

_MOST_TERMS = 1_024  # different words of one question; a pasted page has fewer
_LONGEST_WORD = 100  # bytes; longer runs are data, not words
_NO_STOP_WORDS = ("none", "arabic", "greek", "romanian", "tamil", "turkish")  # tantivy has no list for these


class Analysis:
    """Words are cut at everything that is not a letter or digit, lower-cased, folded to ASCII and stemmed.

    Scripts without spaces are cut into characters, and names in code are words as a whole too (`identifiers.py`).
    A question loses its function words, unless it has no others.
    """

    def __init__(self, language: str) -> None:
        self._language = language

    def of_passage(self, text: str) -> list[str]:
        return self.everything.analyze(with_names(separated(text)))

    def of_question(self, text: str) -> dict[str, int]:
        """The different terms of a question and how often each stands in it."""
        text = with_names(separated(text))
        terms = self._content.analyze(text) or self.everything.analyze(text)
        return dict(list(Counter(terms).items())[:_MOST_TERMS])

    def term(self, word: str) -> str | None:
        """What a word is indexed as; None where that is not one term."""
        terms = self.everything.analyze(word)
        return terms[0] if len(terms) == 1 else None

    @cached_property
    def everything(self) -> tantivy.TextAnalyzer:
        return _analyzer(self._language, drop_stop_words=False)

    @cached_property
    def _content(self) -> tantivy.TextAnalyzer:
        return _analyzer(self._language, drop_stop_words=self._language not in _NO_STOP_WORDS)


def _analyzer(language: str, drop_stop_words: bool) -> tantivy.TextAnalyzer:
    import tantivy

    filters = tantivy.Filter
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(filters.remove_long(_LONGEST_WORD)).filter(filters.lowercase())
    if drop_stop_words and language == "english":
        builder = builder.filter(
            filters.custom_stopword(sorted(FUNCTION_WORDS))
        )  # tantivy's own lacks "what", "who" ...
    elif drop_stop_words:
        builder = builder.filter(filters.stopword(language))
    if language in ("none", "english"):
        builder = builder.filter(filters.ascii_fold())
    if language != "none":
        builder = builder.filter(filters.stemmer(language))
    if language not in ("none", "english"):  # their stemmers need the accents
        builder = builder.filter(filters.ascii_fold())
    return builder.build()
