"""What writers said in validation, scored on texts: the tables of Masque and PREAST-QA, on our ten-passage set.

    python -m wherefrom.evaluate.texts MATERIAL.safetensors TOKENIZER.json OUT.json NAME=SAID.jsonl ...

ROUGE-L and BLEU-1 as MS MARCO scores them, lowercased; EM and F1 as SQuAD does; NarrativeQA by its own tokens. The
first run named is the one that the others are compared with, by paired bootstrap, with 95 % intervals.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wherefrom.durable import write_text
from wherefrom.features.querytype import query_type
from wherefrom.metrics import ranking
from wherefrom.metrics.answers import contains_answer, exact_match, token_f1
from wherefrom.metrics.bleu import corpus_bleu
from wherefrom.metrics.calibration import best_f1, precision_recall_curve
from wherefrom.metrics.meteor import meteor
from wherefrom.metrics.rouge import rouge_l_marco
from wherefrom.metrics.significance import bootstrap_interval, paired_bootstrap, paired_interval
from wherefrom.metrics.styles import by_group, keyword, repeated_ngram_rate, zero_overlap
from wherefrom.metrics.tokens import marco_tokens, narrative_tokens
from wherefrom.train.writing.corpus import texts_beside

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Line = Mapping[str, Any]
References = Literal["sentences", "answers"]
NARRATIVE = ("narrative", "narrative in sentences")  # how stories are asked about: scored as NarrativeQA is
_CURVE = 100  # points of a precision-recall curve that are kept
_COMPARED = (
    ("sentence", "rouge_l"),
    ("short", "rouge_l"),
    ("short", "f1"),
    ("told", "rouge_l"),
    ("reverse", "f1"),
    ("narrative", "rouge_l"),
    ("passages", "map"),
)


def told(texts: Path) -> dict[int, Line]:
    """The questions of the material with their answers and sentences, by number of example."""
    with gzip.open(texts, "rt", encoding="utf-8") as lines:
        return {line["example"]: line for line in map(json.loads, lines) if line["valid"] or any(line["held"])}


def questions(texts: Path) -> dict[int, str]:
    """Every question of the material, those of training too, by number of example."""
    with gzip.open(texts, "rt", encoding="utf-8") as lines:
        return {line["example"]: line["question"] for line in map(json.loads, lines)}


def spelled(tokens: Sequence[int], tokenizer: Tokenizer) -> str:
    """Wordpieces as lowercased text; scores do not see case and spacing."""
    text: str = tokenizer.decode(list(tokens), skip_special_tokens=True)
    return text


def scored(said: Sequence[Line], texts: Mapping[int, Line], tokenizer: Tokenizer) -> dict[str, dict[str, Any]]:
    """Scores by how it was asked; `each` holds a number an example, for intervals and comparisons."""
    found: dict[str, dict[str, Any]] = {}
    for asked in dict.fromkeys(line["asked"] for line in said):
        mine = [line for line in said if line["asked"] == asked]
        written = [line for line in mine if line["tokens"] is not None and line["target"] is not None]
        if asked == "shuffled":  # a probe of the classifier; see `_flipped`
            continue
        if written:
            found[asked] = _written(asked, written, texts, tokenizer)
        if asked == "short":
            shuffled = [line for line in said if line["asked"] == "shuffled"]
            found["passages"] = _passages(mine) | _flipped(mine, shuffled)
    if "sentence" in found and "short of sentence" in found:
        found["styles"] = _between_styles(found["sentence"], found["short of sentence"])
    return found


def compared(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """By how much the other is better over the examples that both have, with its 95 % interval and p-value."""
    shared = sorted(one["each"][name].keys() & other["each"][name].keys())
    if not shared:
        return None
    pair = ([other["each"][name][key] for key in shared], [one["each"][name][key] for key in shared])
    test, interval = paired_bootstrap(*pair, samples=2000), paired_interval(*pair, samples=2000)
    bounds = [100 * interval.low, 100 * interval.high]
    return {"difference": 100 * test.difference, "interval": bounds, "p": test.p, "examples": len(shared)}


def _written(asked: str, lines: Sequence[Line], texts: Mapping[int, Line], tokenizer: Tokenizer) -> dict[str, Any]:
    return text_scores(asked, {line["example"]: spelled(line["tokens"], tokenizer) for line in lines}, texts)


def text_scores(
    asked: str, said: Mapping[int, str], texts: Mapping[int, Line], against: References | None = None
) -> dict[str, Any]:
    """Scores of what was said to each example.

    `against`: what the gold is; without it, sentences where sentences were asked for, else short answers.
    """
    tokens = narrative_tokens if asked in NARRATIVE else marco_tokens
    against = against or ("sentences" if asked in ("sentence", "told") else "answers")
    each: dict[str, dict[int, float]] = {"rouge_l": {}, "em": {}, "f1": {}}
    if asked in NARRATIVE:
        each["meteor"] = {}
    golds: dict[int, list[str]] = {}
    for example, text in said.items():
        golds[example] = gold_of(texts[example], against)
        references = [tokens(reference.lower()) for reference in golds[example]]
        each["rouge_l"][example] = rouge_l_marco(tokens(text.lower()), references).f
        each["em"][example] = exact_match(text, golds[example])
        each["f1"][example] = token_f1(text, golds[example])
        if asked in NARRATIVE:
            each["meteor"][example] = meteor(tokens(text.lower()), references)
    bleu = corpus_bleu(
        [tokens(said[example].lower()) for example in said],
        [[tokens(reference.lower()) for reference in golds[example]] for example in said],
        smoothing="coco",
    )
    lengths = [len(tokens(text)) for text in said.values()]
    rouge = list(each["rouge_l"].values())
    interval = bootstrap_interval(rouge)
    return {
        "examples": len(said),
        **{name: 100 * sum(values.values()) / len(values) for name, values in each.items()},
        "rouge_l_interval": [100 * interval.low, 100 * interval.high],
        "exact": 100 * sum(value >= 1.0 - 1e-9 for value in rouge) / len(rouge),  # ROUGE-L of 1
        **{f"bleu_{n}": 100 * value for n, value in enumerate(bleu, start=1)},
        "words": sum(lengths) / len(lengths),
        "repeated_4_grams": 100 * repeated_ngram_rate(list(said.values()), 4),
        "rouge_l by keyword": _by_group([keyword(texts[example]["question"]) for example in said], rouge),
        "rouge_l by type": _by_group([query_type(texts[example]["question"]) for example in said], rouge),
        "each": each,
        "said": dict(said),
    }


def gold_of(line: Line, against: References) -> list[str]:
    """What a text is scored against; answers that serve style transfer alone count where there are no others."""
    if against == "sentences":
        return list(line["sentences"])
    return list(line["answers"][: line["references"]] or line["answers"])


def groups_of(question: str) -> tuple[str, str]:
    """The two groups of PREAST-QA's Table 5.4 that a question is in, such as "type Numeric" and "keyword how"."""
    return f"type {query_type(question).capitalize()}", f"keyword {keyword(question)}"


def _by_group(groups: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return {name: 100 * group.mean for name, group in by_group(groups, values).items()}


def _passages(lines: Sequence[Line]) -> dict[str, Any]:
    """How well passages are ranked where one is relevant, and how well answerability is told."""
    rankings = {line["example"]: ranking.ranked(line["scores"], line["relevant"]) for line in lines}
    judged = {example: found for example, found in rankings.items() if any(found.gains)}
    precision = {example: ranking.average_precision(found) for example, found in judged.items()}
    found: dict[str, Any] = {"examples": len(lines), "each": {"map": precision}}
    if judged:
        found["map"] = 100 * ranking.mean_average_precision(list(judged.values()))
        found["mrr"] = 100 * ranking.mean_reciprocal_rank(list(judged.values()))
    labels = [line["answerable"] for line in lines]
    if len(set(labels)) == 2:
        chances = [line["chance"] for line in lines]
        best, curve = best_f1(chances, labels), precision_recall_curve(chances, labels)
        found |= {
            "answerable_f1": 100 * best.f1,
            "threshold": best.threshold,
            "answerable_precision": 100 * best.precision,
            "answerable_recall": 100 * best.recall,
            "answerable_curve": [  # threshold, precision, recall; so many of the points, evenly spread
                [point.threshold, 100 * point.precision, 100 * point.recall]
                for point in curve[:: -(-len(curve) // _CURVE)]
            ],
        }
    return found


def _flipped(lines: Sequence[Line], shuffled: Sequence[Line]) -> dict[str, float]:
    """How often the decision at 0.5 changes when the passages are shuffled; nothing where they were not."""
    before = {line["example"]: line["chance"] >= 0.5 for line in lines}
    after = [(before[line["example"]], line["chance"] >= 0.5) for line in shuffled if line["example"] in before]
    return {"flipped": 100 * sum(one != other for one, other in after) / len(after)} if after else {}


def _between_styles(sentence: Mapping[str, Any], short: Mapping[str, Any]) -> dict[str, float]:
    """How well the two styles of one question agree."""
    shared = sorted(sentence["said"].keys() & short["said"].keys())
    in_full, shortly = ([part["said"][key] for key in shared] for part in (sentence, short))
    holds = [contains_answer(text, [answer]) for text, answer in zip(in_full, shortly, strict=True)]
    return {
        "examples": len(shared),
        "zero_overlap": 100 * zero_overlap(in_full, shortly),
        "sentence_holds_short": 100 * sum(holds) / len(holds),
    }


def main(arguments: list[str]) -> None:
    from tokenizers import Tokenizer

    material, tokenizer_file, out = (Path(argument) for argument in arguments[:3])
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    texts = told(texts_beside(material))
    runs: dict[str, dict[str, dict[str, Any]]] = {}
    for argument in arguments[3:]:
        name, _, path = argument.partition("=")
        lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
        runs[name] = scored(lines, texts, tokenizer)
    first = next(iter(runs))
    report: dict[str, Any] = {}
    for name, run in runs.items():
        report[name] = {
            asked: {key: value for key, value in part.items() if key not in ("each", "said")}
            for asked, part in run.items()
        }
        if name != first:
            report[name]["against"] = {
                f"{asked} {score}": compared(runs[first][asked], run[asked], score)
                for asked, score in _COMPARED
                if asked in run and asked in runs[first] and score in run[asked]["each"]
            }
    write_text(out, json.dumps({"compared with": first, "runs": report}, indent=1) + "\n")
    for name, parts in report.items():
        for asked, part in parts.items():
            shown = {key: round(value, 2) for key, value in part.items() if isinstance(value, int | float)}
            print(name, asked, shown or part)


if __name__ == "__main__":
    main(sys.argv[1:])
