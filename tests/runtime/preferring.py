"""What a preference for shorter spans does to candidates, and what it leaves alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import pytest

from wherefrom.types import Candidate


def check_preference(brief: Sequence[Candidate], plain: Sequence[Candidate], brevity: float) -> None:
    """The same spans in another order: in a passage by brevity, between passages by the best as before."""
    before = {(c.passage.id, c.start, c.end): c for c in plain}
    assert len(brief) == len(plain)
    raised: defaultdict[str, list[float]] = defaultdict(list)
    for candidate in brief:
        old = before[candidate.passage.id, candidate.start, candidate.end]
        assert candidate.features["span"] == old.features["span"]
        assert candidate.features["read"] == candidate.score
        less = brevity * math.log(candidate.features["tokens"])
        raised[candidate.passage.id].append(candidate.score - old.score + less)
    for name, values in raised.items():
        assert values == pytest.approx([values[0]] * len(values), abs=1e-3)  # all spans of a passage by the same
        best = [max(c.score for c in candidates if c.passage.id == name) for candidates in (brief, plain)]
        assert best[0] == pytest.approx(best[1], abs=1e-4)
    assert [c.score for c in brief] == sorted((c.score for c in brief), reverse=True)
    assert [c.text for c in brief] != [c.text for c in plain]
