"""Texts for the metrics' tests: random ones with every awkward thing in them, and real ones from the sample library."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random

from wherefrom.text import sentences

SAMPLE = Path(__file__).parents[2] / "sample"
WORDS = """the a an The A An of in was founded founding harbours harbour relational general's don't U.S. well-known
1,250 3.5 km $12.50 12% naïve Zürich café 北京 Москва e.g. (roughly) "quoted" — … ! , ; : the-end an.d a's THE theory
anthem was was river rivers running ran happily happiness skies dying agreed controlling""".split()


def random_text(random: Random, most: int = 20) -> str:
    """Up to `most` words, many of them the same, between white space of all kinds; sometimes none."""
    words = random.choices(WORDS, k=random.randint(0, most))
    return "".join(word + random.choice([" ", " ", " ", "  ", "\t", "\n", "\u00a0"]) for word in words)


def altered(text: str, random: Random) -> str:
    """The text with some of its words left out, doubled, exchanged or moved: a plausible wrong answer."""
    words: list[str] = []
    for word in text.split():
        fate = random.random()
        if fate < 0.15:
            continue
        words.append(word if fate < 0.75 else random.choice(WORDS))
        if fate > 0.95:
            words.append(word)
    if words and random.random() < 0.2:
        words.insert(0, words.pop())
    return " ".join(words)


def random_pairs(seed: int, count: int, most_references: int = 3) -> list[tuple[str, list[str]]]:
    """Predictions with one to three references, of which the prediction is often an altered copy."""
    random = Random(seed)
    pairs = []
    for _ in range(count):
        references = [random_text(random) for _ in range(random.randint(1, most_references))]
        copied = random.random() < 0.7
        pairs.append((altered(references[0], random) if copied else random_text(random), references))
    return pairs


@cache
def real_sentences() -> tuple[str, ...]:
    """The sentences of the sample library's plain texts."""
    files = sorted(path for path in (SAMPLE / "library").rglob("*") if path.suffix in {".txt", ".md"})
    texts = [path.read_text(encoding="utf-8", errors="ignore") for path in files]  # a few are in other encodings
    return tuple(" ".join(text[start:end].split()) for text in texts for start, end in sentences(text))


@cache
def real_questions() -> tuple[str, ...]:
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line)["question"] for line in lines)


def real_pairs(seed: int, count: int) -> list[tuple[str, list[str]]]:
    """Sentences of the sample library, altered, beside the sentence itself and one more."""
    random = Random(seed)
    pool = real_sentences()
    pairs = []
    for _ in range(count):
        sentence, another = random.sample(pool, 2)
        pairs.append((altered(sentence, random), [sentence, another][: random.randint(1, 2)]))
    return pairs
