"""What the papers measure: every measure's name, heading and tolerance.

A measured share is a fraction from 0 to 1, as `wherefrom.metrics` gives it; a paper prints it in percent or as a
fraction. Tolerances of shares and changes are percent points, whichever way the paper prints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["share", "change", "plain"]
# share: from 0 to 1. change: of a share, may be negative or above 1. plain: printed as it is, never in percent.

Scale = Literal["percent", "fraction"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure that papers report."""

    heading: str  # short, for tables
    tolerance: float  # how far a measured value may lie from the reported one, either way, and count as reproduced
    kind: Kind = "share"

    def printed(self, value: float, scale: Scale) -> float:
        """A measured value as the paper would print it."""
        return value * 100 if scale == "percent" and self.kind != "plain" else value

    def tolerance_in(self, scale: Scale, points: float) -> float:
        """A tolerance as the paper would print it; for a share or a change `points` are percent points."""
        return points / 100 if scale == "fraction" and self.kind != "plain" else points

    def possible(self, value: float) -> bool:
        """Whether a measured value can be one at all: finite, and for a share from 0 to 1."""
        return math.isfinite(value) and (self.kind != "share" or 0.0 <= value <= 1.0)


def _rouge() -> dict[str, Measure]:
    """Recall, precision and F of each ROUGE.

    Half a point: PREAST-QA's Table A.1 has one model at three learning rates and batch sizes, 0.45 apart.
    """
    kinds = {"1": "R-1", "2": "R-2", "l": "R-L", "su4": "R-SU4"}
    return {
        f"rouge_{kind}_{part}": Measure(f"{heading} {part.upper()}", 0.5)
        for kind, heading in kinds.items()
        for part in "rpf"
    }


# Where a table has its own reason for another tolerance, it says so in its [tolerance] or on the row.
MEASURES: dict[str, Measure] = {
    # Short answers. On 3,000 questions one standard error is 0.9 points.
    "em": Measure("EM", 1.0),
    "f1": Measure("F1", 1.0),
    "accuracy": Measure("Acc", 1.0),
    "ceiling": Measure("Ceiling", 0.1),  # a property of the data, so nearly exact
    # Rankings. On TREC-QA's 68 questions, one right answer falling from first to second place costs 0.7 points.
    "top_1": Measure("Top-1", 1.0),
    "top_3": Measure("Top-3", 1.0),
    "top_5": Measure("Top-5", 1.0),
    "map": Measure("MAP", 1.0),
    "mrr": Measure("MRR", 1.0),
    "map_gain": Measure("MAP gain", 3.0, "change"),  # a ratio of two means, each of them uncertain by a point or two
    "mrr_gain": Measure("MRR gain", 3.0, "change"),
    # Written answers and summaries.
    **_rouge(),
    "rouge_l": Measure("R-L", 0.5),  # MS MARCO's and NarrativeQA's own; as above
    "rouge_l_change": Measure("R-L change", 0.5, "change"),
    "bleu_1": Measure("B-1", 1.1),  # the same Table A.1: 1.05 between the runs of one model
    "bleu_4": Measure("B-4", 1.1),
    "meteor": Measure("METEOR", 0.5),
    "qa_rouge_l": Measure("QA R-L", 0.5),  # the answer in Q&A style, where one row holds both styles
    "qa_bleu_1": Measure("QA B-1", 2.2),  # the same Table A.1: 2.14 between the runs of one model
    "exact": Measure("Exact", 1.0),  # share of answers with a ROUGE-L of 1
    "zero_overlap": Measure("No overlap", 0.5),  # share of questions whose two styles share no word
    "group_share": Measure("Share", 1.0),  # of a query type or keyword; printed without decimals
    # Decisions.
    "answerable_f1": Measure("F1@t", 0.3),  # the same Table A.1: 0.1 between the runs of one model
    "threshold": Measure("t", 0.05, "plain"),  # the same Table A.1: 0.03 between the runs of one model
    "flipped": Measure("Flipped", 0.5),  # share of decisions that change when the passages are shuffled
    # People's grades, of 270 questions: one standard error is 2 to 3 points.
    "good": Measure("Good", 3.0),
    "acceptable": Measure("Acceptable", 3.0),
    "bad": Measure("Bad", 3.0),
    "correlation": Measure("Correlation", 0.1, "plain"),
}
