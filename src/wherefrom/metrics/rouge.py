"""ROUGE: how much of its references a text recalls.

Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries". The functions on tokens count
`Hits`; `rouge` does the whole work from texts, with the options of ROUGE-1.5.5:

| option of ROUGE-1.5.5 | here                                                                                 |
|-----------------------|--------------------------------------------------------------------------------------|
| -n 2                  | kinds "1" and "2"                                                                    |
| -2 4 -u               | kind "SU4"                                                                           |
| -m                    | stems="porter" (without WordNet's list of irregular forms, which cannot be shipped)  |
| -l 250                | limit=250, in words between white space, of the text and of the references           |
| -p 0.5                | alpha=0.5                                                                            |
| (default) -f A        | multi="average"                                                                      |
| -c 95                 | `significance.bootstrap_interval` over the texts' scores                             |

Scores are not rounded; ROUGE-1.5.5 cuts each text's to five digits. An empty text scores 0, also against an empty
reference, and a text needs at least one reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from wherefrom.metrics.checks import MetricError, check_references
from wherefrom.metrics.lcs import lcs_length, lcs_places, length, positions
from wherefrom.metrics.overlap import NOTHING, Score, counts, f_alpha, f_beta, ngrams, shared
from wherefrom.metrics.porter import Variant
from wherefrom.metrics.tokens import rouge_tokens

Tokens = Sequence[str]
Kind = Literal["1", "2", "3", "4", "L", "Lsum", "SU4"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Multi = Literal["average", "best", "jackknife"]


class Hits(NamedTuple):
    """What a text and a reference share, with how much each has; ROUGE divides the first by the others."""

    same: int
    predicted: int
    wanted: int

    def score(self, alpha: float = 0.5) -> Score:
        """P = same/predicted, R = same/wanted, F = P·R / ((1 − α)·P + α·R)."""
        if not self.same:
            return NOTHING
        precision, recall = self.same / self.predicted, self.same / self.wanted
        return Score(precision, recall, f_alpha(precision, recall, alpha))


@dataclass(frozen=True, slots=True)
class RougeOptions:
    """How texts are cut and several references joined; the defaults are those of the rouge-score package."""

    stems: Variant | None = None
    limit: int | None = None  # words of the text and of each reference that count
    alpha: float = 0.5  # towards 1 for precision
    multi: Multi = "best"


DEFAULTS = RougeOptions()
# -a -c 95 -m -n 2 -2 4 -u -p 0.5 -l 250, as summaries of DUC 2005 to 2007 are scored
DUC = RougeOptions(stems="porter", limit=250, alpha=0.5, multi="average")


def rouge_n(prediction: Tokens, reference: Tokens, n: int) -> Hits:
    """ROUGE-N: Σ min(count of each n-gram in both), over the n-grams of each (Lin 2004, Eq. 1)."""
    predicted, wanted = ngrams(prediction, n), ngrams(reference, n)
    return Hits(shared(counts(predicted), counts(wanted)), len(predicted), len(wanted))


def rouge_l(prediction: Tokens, reference: Tokens) -> Hits:
    """ROUGE-L of one sentence: the longest common subsequence, over the tokens of each (Lin 2004, Eq. 2-4)."""
    return Hits(lcs_length(reference, prediction), len(prediction), len(reference))


def rouge_lsum(prediction: Sequence[Tokens], reference: Sequence[Tokens]) -> Hits:
    """ROUGE-L of a summary: Σ over reference sentences of the union of its LCS with every sentence (Lin 2004, Eq. 5-7).

    As ROUGE-1.5.5 does and the paper does not, a token counts no more often than both whole summaries have it.
    """
    left = counts(token for sentence in prediction for token in sentence)
    wanted_left = counts(token for sentence in reference for token in sentence)
    same = 0
    for sentence in reference:
        union = 0
        for other in prediction:
            union |= lcs_places(sentence, other)
        for place, token in enumerate(sentence):
            if union >> place & 1 and left.get(token, 0) > 0 and wanted_left[token] > 0:
                same += 1
                left[token] -= 1
                wanted_left[token] -= 1
    return Hits(same, sum(map(len, prediction)), sum(map(len, reference)))


def rouge_su(prediction: Tokens, reference: Tokens, gap: int = 4, every_unigram: bool = False) -> Hits:
    """ROUGE-SU: pairs of tokens in order with at most `gap` tokens between, and single tokens (Lin 2004, sections 5-6).

    ROUGE-1.5.5 leaves out the single token that ends a text, so a text of one token has nothing to score;
    `every_unigram` counts it.
    """
    predicted = _skip_bigrams(prediction, gap, every_unigram)
    wanted = _skip_bigrams(reference, gap, every_unigram)
    return Hits(shared(counts(predicted), counts(wanted)), len(predicted), len(wanted))


def rouge_l_marco(prediction: Tokens, references: Sequence[Tokens], beta: float = 1.2) -> Score:
    """MS MARCO's ROUGE-L: F = (1 + β²)·P·R / (R + β²·P) of the best P and the best R over the references.

    The best P and the best R may come from different references (coco-caption, which MS MARCO uses). Its
    empty text is one empty token, so empty against empty is 1 here.
    """
    check_references(references)
    predicted = prediction or ("",)
    places, size = positions(predicted), len(predicted)
    precision = recall = 0.0
    for reference in references:
        wanted = reference or ("",)
        same = length(places, size, wanted)
        precision = max(precision, same / size)
        recall = max(recall, same / len(wanted))
    return Score(precision, recall, f_beta(precision, recall, beta))


def joined_references(hits: Sequence[Hits], multi: Multi, alpha: float = 0.5) -> Score:
    """One score from the hits against several references.

    - "average": hits and counts of all references are summed, then divided (ROUGE-1.5.5 -f A).
    - "best": the reference of the highest F (rouge-score; ROUGE-1.5.5 -f B goes by recall).
    - "jackknife": each reference is left out in turn, and the means of the best of the others are taken
      (Lin 2004, section 2.1); with one reference there is nothing to leave out.
    """
    check_references(hits)
    if len(hits) == 1:
        return hits[0].score(alpha)
    if multi == "average":
        return Hits(*(sum(column) for column in zip(*hits, strict=True))).score(alpha)
    scores = [hit.score(alpha) for hit in hits]
    if multi == "best":
        return _best(scores)
    chosen = [_best(scores[:out] + scores[out + 1 :]) for out in range(len(scores))]
    return Score(*(sum(column) / len(chosen) for column in zip(*chosen, strict=True)))


def rouge(
    prediction: str,
    references: Sequence[str],
    kinds: Sequence[Kind] = ("1", "2", "L"),
    options: RougeOptions = DEFAULTS,
) -> dict[Kind, Score]:
    """ROUGE of a text, by kind; sentences of "Lsum" stand on lines of their own."""
    check_references(references)
    if options.limit is not None:
        prediction = _limited(prediction, options.limit)
        references = [_limited(reference, options.limit) for reference in references]
    if len(references) == 1:
        return {kind: _hits(kind, prediction, references[0], options.stems).score(options.alpha) for kind in kinds}
    return {
        kind: joined_references(
            [_hits(kind, prediction, reference, options.stems) for reference in references],
            options.multi,
            options.alpha,
        )
        for kind in kinds
    }


def _hits(kind: Kind, prediction: str, reference: str, stems: Variant | None) -> Hits:
    if kind == "L":
        return rouge_l(rouge_tokens(prediction, stems), rouge_tokens(reference, stems))
    if kind == "Lsum":
        return rouge_lsum(_sentences(prediction, stems), _sentences(reference, stems))
    predicted, wanted = rouge_tokens(prediction, stems), rouge_tokens(reference, stems)
    if kind == "SU4":
        return rouge_su(predicted, wanted)
    if kind not in KINDS:
        raise MetricError(f"ROUGE-{kind} is not known; choose from {', '.join(KINDS)}")
    return rouge_n(predicted, wanted, int(kind))


def _sentences(text: str, stems: Variant | None) -> list[tuple[str, ...]]:
    return [rouge_tokens(line, stems) for line in text.split("\n") if line]


def _limited(text: str, limit: int) -> str:
    """The first words of a text, on the lines where they stand."""
    lines: list[str] = []
    for line in text.split("\n"):
        words = line.split()[:limit]
        lines.append(" ".join(words))
        limit -= len(words)
    return "\n".join(lines)


def _skip_bigrams(tokens: Tokens, gap: int, every_unigram: bool) -> list[str]:
    singles = list(tokens if every_unigram else tokens[:-1])
    pairs = [
        f"{first} {second}" for place, first in enumerate(tokens) for second in tokens[place + 1 : place + gap + 2]
    ]
    return singles + pairs


def _best(scores: Sequence[Score]) -> Score:
    return max(scores, key=lambda score: score.f)
