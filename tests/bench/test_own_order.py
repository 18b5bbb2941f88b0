"""The reader's own order, told from traces in which votes have changed it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
from bench.own_order import main, own_first

from contracts.material import GARDEN, HARBOUR, span
from wherefrom.rerank.vote import VoteReranker
from wherefrom.types import Question, Trace


def test_the_reader_s_first_answer_is_found_again(tmp_path: Path) -> None:
    alone = span(GARDEN, "412", math.log(0.4))
    twice = [span(HARBOUR, "The harbour", math.log(0.3)), span(HARBOUR, "harbour", math.log(0.2))]
    (voted,) = VoteReranker().rerank([Question("q", "?")], [[alone, *twice]])
    assert voted[0].text == "The harbour"
    assert own_first(voted) == "412"
    assert own_first([alone, *twice]) == "412"  # not re-ranked
    traces = [Trace(Question("q", "?"), candidates=tuple(voted)), Trace(Question("none", "?"))]
    (tmp_path / "traces.jsonl").write_bytes(b"".join(msgspec.json.encode(trace) + b"\n" for trace in traces))
    main([str(tmp_path / "traces.jsonl"), str(tmp_path / "alone.json")])
    assert json.loads((tmp_path / "alone.json").read_text()) == {"q": "412", "none": ""}
