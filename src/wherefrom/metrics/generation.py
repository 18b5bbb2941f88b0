"""How close written answers are to their references, by the protocol of each dataset.

The formulas are in `rouge`, `bleu` and `meteor`, the tokens in `tokens`; this file says which of them a dataset's
published numbers use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from wherefrom.metrics.bleu import corpus_bleu
from wherefrom.metrics.checks import check_same_length, check_some
from wherefrom.metrics.meteor import Synonyms, meteor
from wherefrom.metrics.overlap import Score
from wherefrom.metrics.rouge import DUC, Kind, rouge, rouge_l_marco
from wherefrom.metrics.tokens import marco_tokens, narrative_tokens


@dataclass(frozen=True, slots=True)
class Generation:
    """A corpus of answers, scored; `rouge_l_each` keeps every answer's score for significance tests."""

    rouge_l: float
    bleu: tuple[float, ...]  # BLEU-1 to BLEU-4
    rouge_l_each: tuple[float, ...]
    meteor: float | None = None


def marco(predictions: Sequence[str], references: Sequence[Sequence[str]], brevity: bool = True) -> Generation:
    """MS MARCO: mean ROUGE-L with β = 1.2, and corpus BLEU, over lower-cased tokens with punctuation.

    Give only questions that have an answer; a missing prediction is "". Bajaj et al. (2016), and the evaluation
    published with the data. `brevity=False` is BLEU as CETE's Eq. 4.8 prints it.
    """
    check_same_length(predictions=predictions, lists_of_references=references)
    check_some(predictions, "answers")
    predicted = [marco_tokens(prediction) for prediction in predictions]
    wanted = [[marco_tokens(reference) for reference in group] for group in references]
    each = tuple(rouge_l_marco(text, group).f for text, group in zip(predicted, wanted, strict=True))
    return Generation(fmean(each), corpus_bleu(predicted, wanted, brevity=brevity, smoothing="coco"), each)


def narrative(
    predictions: Sequence[str], references: Sequence[Sequence[str]], synonyms: Synonyms | None = None
) -> Generation:
    """NarrativeQA: ROUGE-L and BLEU as for MS MARCO, and METEOR, over lower-cased words without punctuation.

    Kočiský et al. (2018); Nishida et al. (2019), section 5. See `meteor` for which METEOR this is.
    """
    check_same_length(predictions=predictions, lists_of_references=references)
    check_some(predictions, "answers")
    predicted = [narrative_tokens(prediction) for prediction in predictions]
    wanted = [[narrative_tokens(reference) for reference in group] for group in references]
    pairs = list(zip(predicted, wanted, strict=True))
    each = tuple(rouge_l_marco(text, group).f for text, group in pairs)
    return Generation(
        fmean(each),
        corpus_bleu(predicted, wanted, smoothing="coco"),
        each,
        fmean(meteor(text, group, synonyms) for text, group in pairs),
    )


def duc(
    summaries: Sequence[str], references: Sequence[Sequence[str]], kinds: Sequence[Kind] = ("1", "2", "SU4")
) -> dict[Kind, Score]:
    """DUC 2005 to 2007: mean over the summaries of ROUGE-1.5.5 `-a -c 95 -m -n 2 -2 4 -u -p 0.5 -l 250`."""
    check_same_length(summaries=summaries, lists_of_references=references)
    check_some(summaries, "summaries")
    each = [rouge(text, group, kinds, DUC) for text, group in zip(summaries, references, strict=True)]
    return {kind: mean_score([scores[kind] for scores in each]) for kind in kinds}


def mean_score(scores: Sequence[Score]) -> Score:
    """The mean precision, the mean recall and the mean F; the last is not the F of the first two."""
    check_some(scores, "scores")
    return Score(*(fmean(column) for column in zip(*scores, strict=True)))
