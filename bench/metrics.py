"""Measure how fast answers are scored, beside other packages: python -m bench.metrics [--answers 100000]."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, TypeVar

from bench.facts import cpu, git
from wherefrom.metrics import answers, porter, tokens
from wherefrom.metrics.bleu import corpus_bleu
from wherefrom.metrics.meteor import meteor
from wherefrom.metrics.ranking import average_precision, mean_over, ndcg_at, ranked_run
from wherefrom.metrics.rouge import RougeOptions, rouge, rouge_l_marco

Found = TypeVar("Found")

ROOT = Path(__file__).parents[1]
WORK = ROOT / "bench" / "work"
PEERS = ("rouge-score", "pycocoevalcap", "sacrebleu", "nltk", "pytrec-eval-terrier")
MOST_SECONDS = 60.0  # asked for: 100,000 answers with EM, F1, ROUGE-L and BLEU-1 to 4
LEAST_RATIO = 5.0  # asked for: ROUGE-L beside rouge-score


@dataclass(frozen=True, slots=True)
class Step:
    """One metric over all answers."""

    name: str
    seconds: float
    result: str


@dataclass(frozen=True, slots=True)
class Beside:
    """The same work done by another package; `apart` is the largest difference between both results."""

    name: str
    peer: str
    items: int
    seconds: float
    peer_seconds: float
    apart: float

    @property
    def ratio(self) -> float:
        return self.peer_seconds / self.seconds


@dataclass(frozen=True, slots=True)
class Run:
    """Everything measured, with what it depends on."""

    date: str
    commit: str
    uncommitted_changes: bool
    python: str
    system: str
    cpu: str
    load_before: float
    versions: dict[str, str]
    seed: int
    answers: int
    texts_sha256: str
    steps: list[Step]
    beside: list[Beside]


@dataclass(frozen=True, slots=True)
class Material:
    """Predictions with their references."""

    predictions: list[str]
    references: list[list[str]]

    def first(self, count: int) -> Material:
        return Material(self.predictions[:count], self.references[:count])


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    material = make_material(options.answers, options.seed)
    some = material.first(min(options.beside, options.answers))
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    run = Run(
        date=datetime.now(UTC).date().isoformat(),
        commit=git("rev-parse", "HEAD") or "unknown",
        uncommitted_changes=bool(git("status", "--porcelain", "--", "src", "bench")),
        python=platform.python_version(),
        system=platform.system(),
        cpu=cpu(),
        load_before=load,
        versions={name: metadata.version(name) for name in PEERS},
        seed=options.seed,
        answers=options.answers,
        texts_sha256=_digest(material),
        steps=score_all(material),
        beside=[*rouge_score(some), *coco_caption(some), sacrebleu(some), nltk_meteor(some), trec_eval(options.seed)],
    )
    text = markdown(run)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, encoding="utf-8")
    found = asdict(run) | {"ratios": {f"{row.name} / {row.peer}": row.ratio for row in run.beside}}
    options.out.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(text)
    return 0


def make_material(count: int, seed: int) -> Material:
    """Answers of 5 to 20 words with 1 to 3 references, from the words of the sample library, frequent ones often."""
    files = sorted((ROOT / "sample" / "library").rglob("*.md"))
    words = [word for path in files for word in re.findall(r"\S*\w\S*", path.read_text(encoding="utf-8"))]
    random = Random(seed)
    predictions, references = [], []
    for _ in range(count):
        group = [random.choices(words, k=random.randint(5, 20)) for _ in range(random.randint(1, 3))]
        said = [word if random.random() < 0.7 else random.choice(words) for word in group[0]]
        predictions.append(" ".join(said))
        references.append([" ".join(text) for text in group])
    return Material(predictions, references)


def score_all(material: Material) -> list[Step]:
    """Every metric in turn, on one core; texts are cut once, as an evaluation cuts them."""
    _forget()
    pairs = list(zip(material.predictions, material.references, strict=True))
    em, em_seconds = _timed(lambda: [answers.exact_match(said, golds) for said, golds in pairs])
    f1, f1_seconds = _timed(lambda: [answers.token_f1(said, golds) for said, golds in pairs])
    cut, cut_seconds = _timed(lambda: _cut(material))
    rouge_l, rouge_seconds = _timed(lambda: [rouge_l_marco(said, wanted).f for said, wanted in cut])
    said_all, wanted_all = [said for said, _ in cut], [wanted for _, wanted in cut]
    bleu, bleu_seconds = _timed(lambda: corpus_bleu(said_all, wanted_all, smoothing="coco"))
    return [
        Step("EM", em_seconds, f"{sum(em) / len(em):.4f}"),
        Step("token F1", f1_seconds, f"{sum(f1) / len(f1):.4f}"),
        Step("MS MARCO tokens", cut_seconds, f"{sum(map(len, said_all)):,} in answers"),
        Step("ROUGE-L, β = 1.2", rouge_seconds, f"{sum(rouge_l) / len(rouge_l):.4f}"),
        Step("BLEU-1 to BLEU-4", bleu_seconds, " ".join(f"{score:.4f}" for score in bleu)),
    ]


def rouge_score(material: Material) -> list[Beside]:
    """ROUGE-L from texts, cutting and stemming included, one reference each."""
    from rouge_score.rouge_scorer import RougeScorer

    found = []
    pairs = [(said, wanted[0]) for said, wanted in zip(material.predictions, material.references, strict=True)]
    for stemmed in (False, True):
        peer = RougeScorer(["rougeL"], use_stemmer=stemmed)
        options = RougeOptions(stems="nltk" if stemmed else None)

        def ours(options: RougeOptions = options) -> list[float]:
            return [rouge(said, [wanted], ("L",), options)["L"].f for said, wanted in pairs]

        def theirs(peer: Any = peer) -> list[float]:
            return [peer.score(wanted, said)["rougeL"].fmeasure for said, wanted in pairs]

        name = f"ROUGE-L from texts, stemming {'on' if stemmed else 'off'}"
        found.append(_beside(name, "rouge-score", len(pairs), ours, theirs))
    return found


def coco_caption(material: Material) -> list[Beside]:
    """ROUGE-L and BLEU as MS MARCO's evaluation computes them, from tokens."""
    from pycocoevalcap.bleu.bleu_scorer import BleuScorer
    from pycocoevalcap.rouge.rouge import Rouge

    cut = _cut(material)
    joined = [(" ".join(said), [" ".join(text) for text in wanted]) for said, wanted in cut]
    peer = Rouge()

    def their_bleu() -> list[float]:
        scorer = BleuScorer(n=4)
        for said, wanted in joined:
            scorer += (said, wanted)
        scores: list[float] = scorer.compute_score(option="closest")[0]
        return scores

    return [
        _beside(
            "ROUGE-L, β = 1.2",
            "pycocoevalcap",
            len(cut),
            lambda: [rouge_l_marco(said, wanted).f for said, wanted in cut],
            lambda: [peer.calc_score([said], wanted) for said, wanted in joined],
        ),
        _beside(
            "BLEU-1 to BLEU-4",
            "pycocoevalcap",
            len(cut),
            lambda: corpus_bleu([said for said, _ in cut], [wanted for _, wanted in cut], smoothing="coco"),
            their_bleu,
        ),
    ]


def sacrebleu(material: Material) -> Beside:
    """Corpus BLEU-4 from tokens, one reference each."""
    from sacrebleu.metrics.bleu import BLEU

    cut = _cut(material)
    said, wanted = [" ".join(text) for text, _ in cut], [" ".join(group[0]) for _, group in cut]
    peer = BLEU(tokenize="none", smooth_method="none", force=True)
    return _beside(
        "BLEU-4",
        "sacrebleu",
        len(cut),
        lambda: corpus_bleu([text for text, _ in cut], [group[:1] for _, group in cut])[3:],
        lambda: [peer.corpus_score(said, [wanted]).score / 100],
    )


def nltk_meteor(material: Material) -> Beside:
    """METEOR without synonyms."""
    from nltk.translate.meteor_score import meteor_score

    cut = _cut(material)
    return _beside(
        "METEOR, no synonyms",
        "nltk",
        len(cut),
        lambda: [meteor(said, wanted) for said, wanted in cut],
        lambda: [meteor_score(wanted, said, wordnet=_NoWordNet()) for said, wanted in cut],
    )


def trec_eval(seed: int, questions: int = 2000, listed: int = 100) -> Beside:
    """MAP and nDCG@10 of runs with ties; trec_eval is written in C."""
    from pytrec_eval import RelevanceEvaluator

    random = Random(seed)
    runs = {
        f"q{question}": {f"d{random.randrange(10**6)}": random.randrange(50) / 8 for _ in range(listed)}
        for question in range(questions)
    }
    judged = {q: {item: int(random.random() < 0.1) for item in run} | {"d": 1} for q, run in runs.items()}

    def ours() -> list[float]:
        rankings = [ranked_run(run, judged[question]) for question, run in runs.items()]
        return [mean_over(rankings, average_precision), mean_over(rankings, lambda ranking: ndcg_at(ranking, 10))]

    def theirs() -> list[float]:
        found = RelevanceEvaluator(judged, {"map", "ndcg_cut.10"}).evaluate(runs)
        return [sum(scores[name] for scores in found.values()) / len(found) for name in ("map", "ndcg_cut_10")]

    return _beside(f"MAP and nDCG@10 of lists of {listed}", "pytrec-eval-terrier", questions, ours, theirs)


def markdown(run: Run) -> str:
    total = sum(step.seconds for step in run.steps)
    per_asked = total * 100_000 / run.answers
    uncommitted = " with uncommitted changes" if run.uncommitted_changes else ""
    slowest = min(row.ratio for row in run.beside if row.peer == "rouge-score")
    lines = [
        f"# Scoring {run.answers:,} answers",
        "",
        "Answers of 5 to 20 words with 1 to 3 references, drawn from the words of the sample library. One core, CPU",
        "time, caches empty. EM and F1 include normalising; ROUGE-L and BLEU work on the tokens of the third row.",
        "",
        "| | seconds | answers/s | result |",
        "|---|--:|--:|--:|",
        *(f"| {s.name} | {s.seconds:.2f} | {run.answers / s.seconds:,.0f} | {s.result} |" for s in run.steps),
        f"| all | {total:.2f} | {run.answers / total:,.0f} | |",
        "",
        "## Beside other packages",
        "",
        "The same work in the same process, medians of three, our caches emptied before each. × is the other's time",
        "divided by ours.",
        "",
        "| | items | wherefrom | other | | × | largest difference |",
        "|---|--:|--:|---|--:|--:|--:|",
        *(
            f"| {row.name} | {row.items:,} | {row.seconds:.2f} s | {row.peer} | {row.peer_seconds:.2f} s "
            f"| {row.ratio:.1f} | {row.apart:.0e} |"
            for row in run.beside
        ),
        "",
        "## Asked / measured / verdict",
        "",
        "| what | asked | measured | verdict |",
        "|---|---|--:|---|",
        f"| EM, F1, ROUGE-L and BLEU of 100,000 answers | below {MOST_SECONDS:.0f} s | {per_asked:.1f} s "
        f"| {_verdict(per_asked < MOST_SECONDS)} |",
        f"| ROUGE-L, stemming off and on | at least {LEAST_RATIO:.0f}× faster than rouge-score | {slowest:.1f}× "
        f"| {_verdict(slowest >= LEAST_RATIO)} |",
        "",
        "## Where the numbers come from",
        "",
        f"- {run.date}, commit {run.commit}{uncommitted}; seed {run.seed}",
        f"- {run.cpu}, {run.system}, Python {run.python}; load average {run.load_before:.1f} before the run",
        f"- {', '.join(f'{name} {version}' for name, version in run.versions.items())}",
        f"- texts: sha256 {run.texts_sha256[:12]}…",
        "",
    ]
    return "\n".join(lines)


class _NoWordNet:
    """A WordNet that knows no word."""

    def synsets(self, _word: str) -> list[object]:
        return []


def _beside(
    name: str,
    peer: str,
    items: int,
    ours: Callable[[], Sequence[float]],
    theirs: Callable[[], Sequence[float]],
    times: int = 3,
) -> Beside:
    """Both in turn, several times, our caches emptied before each; the medians count."""
    seconds, peer_seconds = [], []
    for _ in range(times):
        _forget()
        found, took = _timed(ours)
        expected, peer_took = _timed(theirs)
        seconds.append(took)
        peer_seconds.append(peer_took)
    apart = max(abs(left - right) for left, right in zip(found, expected, strict=True))
    return Beside(name, peer, items, median(seconds), median(peer_seconds), apart)


def _timed(work: Callable[[], Found]) -> tuple[Found, float]:
    begun = time.process_time()
    found = work()
    return found, time.process_time() - begun


def _forget() -> None:
    """Empty every cache, so that no measurement lives off an earlier one."""
    for cached in (answers.normalized, answers._bag, porter.stem, tokens._pieces):
        cached.cache_clear()
    for cut in (tokens.marco_tokens, tokens.rouge_tokens, tokens.plain_tokens, tokens.narrative_tokens):
        cut.cache_clear()


def _cut(material: Material) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    return [
        (tokens.marco_tokens(said), [tokens.marco_tokens(text) for text in wanted])
        for said, wanted in zip(material.predictions, material.references, strict=True)
    ]


def _digest(material: Material) -> str:
    return hashlib.sha256(json.dumps([material.predictions, material.references]).encode()).hexdigest()


def _verdict(met: bool) -> str:
    return "met" if met else "FAILED"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.metrics", description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000, help="to score (default %(default)s)")
    parser.add_argument("--beside", type=int, default=10_000, help="of them for other packages (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random texts (default %(default)s)")
    parser.add_argument("--out", type=Path, default=WORK / "metrics.md", help="JSON goes beside it (default there)")
    options = parser.parse_args(arguments)
    if options.answers < 1 or options.beside < 1:
        parser.error("--answers and --beside must be above 0")
    return options


if __name__ == "__main__":
    sys.exit(main())
