"""What writers said in validation, scored on texts: the tables of Masque and PREAST-QA, on our ten-passage set.

    python -m wherefrom.train.writer_texts MATERIAL.safetensors TOKENIZER.json OUT.json NAME=SAID.jsonl ...

ROUGE-L and BLEU-1 as MS MARCO scores them, lowercased; EM and F1 as SQuAD does; NarrativeQA by its own tokens. The
first run named is the one that the others are compared with, by paired bootstrap.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherefrom.durable import write_text
from wherefrom.metrics import ranking
from wherefrom.metrics.answers import contains_answer, exact_match, token_f1
from wherefrom.metrics.bleu import corpus_bleu
from wherefrom.metrics.calibration import best_f1
from wherefrom.metrics.rouge import rouge_l_marco
from wherefrom.metrics.significance import bootstrap_interval, paired_bootstrap
from wherefrom.metrics.styles import by_group, keyword, repeated_ngram_rate, zero_overlap
from wherefrom.metrics.tokens import marco_tokens, narrative_tokens
from wherefrom.train.writer_data import texts_beside

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Line = Mapping[str, Any]
_COMPARED = (
    ("sentence", "rouge_l"), ("short", "rouge_l"), ("short", "f1"), ("told", "rouge_l"), ("passages", "map"),
)  # fmt: skip


def told(texts: Path) -> dict[int, Line]:
    """The questions of the material with their answers and sentences, by number of example."""
    with gzip.open(texts, "rt", encoding="utf-8") as lines:
        return {line["example"]: line for line in map(json.loads, lines) if line["valid"] or any(line["held"])}


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
        if written:
            found[asked] = _written(asked, written, texts, tokenizer)
        if asked == "short":
            found["passages"] = _passages(mine)
    if "sentence" in found and "short of sentence" in found:
        found["styles"] = _between_styles(found["sentence"], found["short of sentence"])
    return found


def compared(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> dict[str, float] | None:
    """The difference of a score over the examples that both have, with its p-value."""
    shared = sorted(one["each"][name].keys() & other["each"][name].keys())
    if not shared:
        return None
    test = paired_bootstrap(
        [other["each"][name][key] for key in shared], [one["each"][name][key] for key in shared], samples=2000
    )
    return {"difference": 100 * test.difference, "p": test.p, "examples": len(shared)}


def _written(asked: str, lines: Sequence[Line], texts: Mapping[int, Line], tokenizer: Tokenizer) -> dict[str, Any]:
    return text_scores(asked, {line["example"]: spelled(line["tokens"], tokenizer) for line in lines}, texts)


def text_scores(asked: str, said: Mapping[int, str], texts: Mapping[int, Line]) -> dict[str, Any]:
    """Scores of what was said to each example; sentences where sentences were asked for, else short answers."""
    tokens = narrative_tokens if asked == "narrative" else marco_tokens
    each: dict[str, dict[int, float]] = {"rouge_l": {}, "em": {}, "f1": {}}
    golds: dict[int, list[str]] = {}
    groups: list[str] = []
    for example, text in said.items():
        gold = texts[example]
        whole = asked in ("sentence", "told")
        golds[example] = gold["sentences"] if whole else gold["answers"][: gold["references"]]
        references = [tokens(reference.lower()) for reference in golds[example]]
        each["rouge_l"][example] = rouge_l_marco(tokens(text.lower()), references).f
        each["em"][example] = exact_match(text, golds[example])
        each["f1"][example] = token_f1(text, golds[example])
        groups.append(keyword(gold["question"]))
    bleu = corpus_bleu(
        [tokens(said[example].lower()) for example in said],
        [[tokens(reference.lower()) for reference in golds[example]] for example in said],
        smoothing="coco",
    )
    lengths = [len(tokens(text)) for text in said.values()]
    interval = bootstrap_interval(list(each["rouge_l"].values()))
    return {
        "examples": len(said),
        **{name: 100 * sum(values.values()) / len(values) for name, values in each.items()},
        "rouge_l_interval": [100 * interval.low, 100 * interval.high],
        **{f"bleu_{n}": 100 * value for n, value in enumerate(bleu, start=1)},
        "words": sum(lengths) / len(lengths),
        "repeated_4_grams": 100 * repeated_ngram_rate(list(said.values()), 4),
        "rouge_l by keyword": {
            name: 100 * group.mean for name, group in by_group(groups, list(each["rouge_l"].values())).items()
        },
        "each": each,
        "said": dict(said),
    }


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
        best = best_f1([line["chance"] for line in lines], labels)
        found |= {"answerable_f1": 100 * best.f1, "threshold": best.threshold}
    return found


def _between_styles(sentence: Mapping[str, Any], short: Mapping[str, Any]) -> dict[str, float]:
    """How well the two styles of one question agree."""
    shared = sorted(sentence["said"].keys() & short["said"].keys())
    in_full, shortly = ([part["said"][key] for key in shared] for part in (sentence, short))
    holds = [contains_answer(text, [answer]) for text, answer in zip(in_full, shortly, strict=True)]
    return {"examples": len(shared), "zero_overlap": 100 * zero_overlap(in_full, shortly),
            "sentence_holds_short": 100 * sum(holds) / len(holds)}  # fmt: skip


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
                for asked, score in (
                    ("sentence", "rouge_l"),
                    ("short", "rouge_l"),
                    ("short", "f1"),
                    ("told", "rouge_l"),
                    ("passages", "map"),
                )
                if asked in run and asked in runs[first] and score in run[asked]["each"]
            }
    write_text(out, json.dumps({"compared with": first, "runs": report}, indent=1) + "\n")
    for name, parts in report.items():
        for asked, part in parts.items():
            shown = {key: round(value, 2) for key, value in part.items() if isinstance(value, int | float)}
            print(name, asked, shown or part)


if __name__ == "__main__":
    main(sys.argv[1:])
