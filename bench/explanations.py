"""Whether explanations hold what answers the question: python -m bench.explanations --data DATA [--record].

Questions whose answer is several sentences, of four sources (`wherefrom.data.long_answers`, its part "valid"), over
a library of all its source's documents, and again without the document that answers it. Beside it: the sentences of the
best passage from its beginning, those nearest to the question, and the single sentence of the style `sentence`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from bench.measure import ROOT
from bench.runs import RUNS, RunLine, record
from bench.summaries import arguments_of
from wherefrom.config import RetrieveSettings, Settings
from wherefrom.data.long_answers import SOURCES, LongQuestion
from wherefrom.features.matching import Matcher
from wherefrom.features.statements import Statement, statements_of
from wherefrom.metrics.rouge import rouge
from wherefrom.metrics.significance import paired_t_test
from wherefrom.origin import commit_of
from wherefrom.runtime.weights import Weights
from wherefrom.systems.selector.material import HITS, long_library
from wherefrom.text import Span, sentences, whole_words
from wherefrom.types import Answer, Hit, Passage, Question, Trace

WORK = ROOT / "bench" / "work" / "explanations"
OURS = "wherefrom, explain"
_SENTENCES = 3  # of the baselines: as many as an explanation has, about


@dataclass(frozen=True, slots=True)
class Told:
    """What a system answered: at which characters of which documents, and in which words."""

    spans: tuple[tuple[str, int, int], ...]
    text: str


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    command = " ".join(["python -m bench.explanations", *arguments_of(arguments)])
    lines: list[RunLine] = []
    for source in options.sources or SOURCES:
        lines += measured(options.data, source, options.questions, options.work, command)
    for line in lines:
        print(
            f"{line.over}: {line.system}: " + ", ".join(f"{name} {value:.4g}" for name, value in line.metrics.items())
        )
    if options.record:
        record(lines, RUNS)
    return 0


def measured(data: Path, source: str, count: int, work: Path, command: str) -> list[RunLine]:
    """A line a system, of one source."""
    settings = Settings(retrieve=RetrieveSettings(k=2 * HITS))
    library, questions = long_library(data, source, "valid", count, work, settings)
    matcher = Matcher(Weights.named("matcher"))
    scores: dict[str, list[dict[str, float]]] = {}
    given, refused, retrieved, held, names = [], [], 0, 0, 0
    with library:
        pipeline = library.pipeline()
        for each in questions:
            asked_as = Question(each.id, each.text)
            (trace,) = pipeline.find_many([asked_as])
            hits = trace.hits[:HITS]
            others = [hit for hit in trace.hits if hit.passage.document_id != each.document_id][:HITS]
            (answered,) = pipeline.answer_many([asked_as], [hits], "explain", min_chance=0.0)
            (without,) = pipeline.answer_many([asked_as], [others], "explain", min_chance=0.0)
            (single,) = pipeline.answer_many([asked_as], [hits], "sentence", min_chance=0.0)
            given.append(_chance(answered) >= pipeline.min_chance)
            refused.append(_chance(without) < pipeline.min_chance)
            retrieved += any(hit.passage.document_id == each.document_id for hit in hits)
            borne, there = _borne_out(answered.answer)
            held, names = held + borne, names + there
            systems = {
                OURS: _quoted(answered.answer),
                "wherefrom, sentence": _quoted(single.answer),
                "first sentences of the best passage": _first(answered.hits),
                "nearest sentences": _nearest(each.text, hits, matcher),
            }
            for name, told_by in systems.items():
                scores.setdefault(name, []).append(_scores(told_by, each))
    commit, _ = commit_of()
    lines = []
    for name, rows in scores.items():
        metrics = {metric: 100 * fmean(row[metric] for row in rows) for metric in rows[0]}
        if name == OURS:
            metrics |= {
                "answered": 100 * fmean(given),
                "refused_without": 100 * fmean(refused),
                "retrieved": 100 * retrieved / len(questions),
                "borne_out": 100 * held / max(names, 1),
            }
        else:
            test = paired_t_test([row["rouge_l"] for row in scores[OURS]], [row["rouge_l"] for row in rows])
            metrics["ours_above_p"] = test.p
        lines.append(
            RunLine(
                topic="explanations",
                system=name,
                dataset=source,
                split="valid",
                over=f"{library.counts()[0]:,} documents of {source}",
                n=len(rows),
                metrics=metrics,
                baseline=name != OURS,
                settings={"questions": count},
                seed=None,
                commit=commit,
                date=datetime.now(UTC).date().isoformat(),
                command=command,
            )
        )
    return lines


def _chance(trace: Trace) -> float:
    return trace.answer.chance if trace.answer and trace.candidates else 0.0


def _quoted(answer: Answer | None) -> Told:
    """The sentences that an answer's words stand in."""
    if answer is None or answer.text is None:
        return Told((), "")
    passages = {passage.id: passage for passage in answer.evidence}
    spans: dict[tuple[str, int, int], None] = {}
    for word in (*answer.words, *answer.rests_on):
        passage = passages.get(word.passage_id or "")
        if passage is not None and word.start is not None and word.end is not None:
            for start, end in _sentences(passage):
                if start <= word.start and word.end <= end:
                    spans[passage.document_id, passage.start + start, passage.start + end] = None
    return Told(tuple(spans), answer.text)


def _sentences(passage: Passage) -> list[Span]:
    return sentences(passage.text)


def _of(pool: Sequence[Statement]) -> Told:
    spans = tuple((*each.place, each.place[1] + each.end - each.start) for each in pool)
    return Told(spans, " ".join(each.text for each in pool))


def _first(hits: Sequence[Hit]) -> Told:
    return _of(statements_of([hit.passage for hit in hits[:1]])[:_SENTENCES])


def _nearest(question: str, hits: Sequence[Hit], matcher: Matcher) -> Told:
    pool = statements_of([hit.passage for hit in hits])
    scores = matcher.scores(question, [each.text for each in pool])
    best = sorted(range(len(pool)), key=lambda at: -scores[at])[:_SENTENCES]
    return _of([pool[at] for at in sorted(best)])


def _scores(told_by: Told, question: LongQuestion) -> dict[str, float]:
    """Precision and recall of the sentences, and ROUGE-L; shares from 0 to 1."""
    right = [span for span in told_by.spans if span[0] == question.document_id]
    touched = [span for span in right if any(_overlap(span[1:], gold) for gold in question.evidence)]
    recalled = [gold for gold in question.evidence if any(_overlap(span[1:], gold) for span in right)]
    scored = rouge(told_by.text, [question.reference], ["L"])["L"]
    return {
        "evidence_precision": len(touched) / max(len(told_by.spans), 1),
        "evidence_recall": len(recalled) / len(question.evidence),
        "rouge_l": scored.f,
        "rouge_l_p": scored.precision,
        "rouge_l_r": scored.recall,
    }


def _overlap(one: tuple[int, int], other: Span) -> bool:
    """Whether they share half of the shorter one."""
    shared = min(one[1], other[1]) - max(one[0], other[0])
    return shared * 2 >= min(one[1] - one[0], other[1] - other[0])


def _borne_out(answer: Answer | None) -> tuple[int, int]:
    """Of an answer's names and numbers, how many stand in its evidence, and how many there are."""
    if answer is None or answer.text is None:
        return 0, 0
    evidence = " ".join(passage.text for passage in answer.evidence)
    names = [answer.text[slice(*span)] for span in whole_words(answer.text)]
    telling = [name for name in names if name[0].isupper() or any(map(str.isdigit, name))]
    return sum(name in evidence for name in telling), len(telling)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", help="some of " + ", ".join(SOURCES))
    parser.add_argument("--data", type=Path, required=True, help="the folder of datasets")
    parser.add_argument("--questions", type=int, default=100, help="of each source [100]")
    parser.add_argument("--work", type=Path, default=WORK, help="where the libraries are kept")
    parser.add_argument("--record", action="store_true", help="write the lines to runs/explanations.jsonl")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
