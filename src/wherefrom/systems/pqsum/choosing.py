"""Which sentences make the summary of a set: those that most likely answer, none of them saying the same."""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.metrics.tokens import rouge_tokens


def chosen(texts: Sequence[str], scores: Sequence[float], words: int, trigram_block: bool) -> list[str]:
    """The best first, up to so many words; the last is cut where the words end.

    With `trigram_block` a sentence that shares three words in a row with an earlier one is passed over (Paulus 2018).
    """
    kept: list[str] = []
    seen: set[tuple[str, ...]] = set()
    room = words
    for at in sorted(range(len(texts)), key=lambda at: (-scores[at], at)):
        own = trigrams(texts[at])
        if trigram_block and own & seen:
            continue
        seen |= own
        taken = texts[at].split()[:room]
        kept.append(" ".join(taken))
        room -= len(taken)
        if room <= 0:
            break
    return [text for text in kept if text]


def trigrams(text: str) -> set[tuple[str, ...]]:
    tokens = rouge_tokens(text)
    return set(zip(tokens, tokens[1:], tokens[2:], strict=False))
