"""Fits the lexical judge: python -m bench.fit_lexical_judge (needs WHEREFROM_DATA with squad).

Half of the paragraphs of every article make a library; the questions on the other half are those it does not
answer (near misses: the article is there, the answer is not), those on articles left out wholly are far off.
Fitted on articles of the training file, measured on those of the validation file.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wherefrom import Library
from wherefrom.judge.lexical import LexicalJudge
from wherefrom.origin import commit_of, file_hash
from wherefrom.types import Document, Question

SEED = 13
FIT_ARTICLES = 80
QUESTIONS = 4000
RESULT = Path(__file__).parent / "work" / "lexical-judge.json"


@dataclass(frozen=True)
class Labelled:
    """Questions as features, and whether the library answers them."""

    features: NDArray[np.float64]
    answerable: NDArray[np.float64]


def main() -> None:
    folder = Path(os.environ.get("WHEREFROM_DATA", ""))
    files = {name: folder / "squad" / f"{name}-v1.1.json.xz" for name in ("train", "valid")}
    for file in files.values():
        if not file.exists():
            sys.exit(f"{file} is missing; set WHEREFROM_DATA to the folder that holds squad/")
    fitted_on = labelled(files["train"], FIT_ARTICLES)
    measured_on = labelled(files["valid"], 1000)
    weights = fitted(fitted_on)
    result = {
        "seed": SEED,
        "data": {f"squad/{file.name}": file_hash(file) for file in files.values()},
        "commit": commit_of()[0],
        "questions": {"fit": len(fitted_on.answerable), "measured": len(measured_on.answerable)},
        "bias": round(float(weights[0]), 3),
        "weights": [round(float(weight), 3) for weight in weights[1:]],
        "valid": measured(weights, measured_on),
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def labelled(file: Path, articles: int) -> Labelled:
    """Build a library of half of the text and ask it everything."""
    chance = random.Random(SEED)
    with lzma.open(file, "rt", encoding="utf-8") as handle:
        chosen = json.load(handle)["data"]
    chance.shuffle(chosen)
    documents: list[Document] = []
    asked: list[tuple[Question, bool]] = []
    for number, article in enumerate(chosen[:articles]):
        far_off = number % 5 == 0
        for place, paragraph in enumerate(article["paragraphs"]):
            kept = not far_off and chance.random() < 0.6
            if kept:
                title = article["title"].replace("_", " ")
                documents.append(Document(f"{article['title']}:{place}", paragraph["context"], title))
            asked += [(Question(str(entry["id"]), entry["question"]), kept) for entry in paragraph["qas"]]
    asked = chance.sample(asked, min(QUESTIONS, len(asked)))
    judge = LexicalJudge("english")
    rows: list[tuple[float, ...]] = []
    labels: list[float] = []
    with tempfile.TemporaryDirectory() as work, Library(work) as library:
        library.put(documents)
        traces = library.pipeline().ask_many([question for question, _ in asked], "short")
        for trace, (question, answerable) in zip(traces, asked, strict=True):
            found = judge.features(question, trace.hits, trace.candidates)
            if found is not None:
                rows.append(found)
                labels.append(float(answerable))
    return Labelled(np.array(rows), np.array(labels))


def fitted(data: Labelled, ridge: float = 1.0) -> NDArray[np.float64]:
    """Logistic regression by Newton's method, answerable and not weighing alike."""
    x = np.hstack([np.ones((len(data.features), 1)), data.features])
    y = data.answerable
    balance = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    weights = np.zeros(x.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (balance * (p - y)) + ridge * weights
        curvature = (x * (balance * p * (1 - p))[:, None]).T @ x + ridge * np.eye(x.shape[1])
        weights -= np.linalg.solve(curvature, gradient)
    return weights


def measured(weights: NDArray[np.float64], data: Labelled) -> dict[str, float]:
    p = 1 / (1 + np.exp(-weights[0] - data.features @ weights[1:]))
    y = data.answerable
    order = np.argsort(p)
    ranks = np.empty(len(p))
    ranks[order] = np.arange(1, len(p) + 1)
    positives, negatives = y.sum(), len(y) - y.sum()
    area = (ranks[y == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives)
    return {
        "answerable share": round(float(y.mean()), 4),
        "area under ROC": round(float(area), 4),
        "answerable kept at 0.5": round(float((p[y == 1] >= 0.5).mean()), 4),
        "unanswerable declined at 0.5": round(float((p[y == 0] < 0.5).mean()), 4),
    }


if __name__ == "__main__":
    main()
