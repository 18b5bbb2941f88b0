"""Scoring: numbers worked out by hand, plain names, breakdowns, comparisons."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluate.small_data import write_squad, write_wikiqa
from wherefrom.data import catalog
from wherefrom.data.examples import Example, whole
from wherefrom.evaluate.predictions import Prediction
from wherefrom.evaluate.score import ScoreError, compare, score, scored
from wherefrom.types import Question


def predicted(**answers: str) -> dict[str, Prediction]:
    return {id: Prediction(id, text) for id, text in answers.items()}


@pytest.fixture
def squad_examples(tmp_path: Path) -> list[Example]:
    return list(catalog.load("squad", write_squad(tmp_path / "valid-v1.1.json"), "valid"))


SQUAD = catalog.dataset("squad")


def test_em_and_f1_by_hand(squad_examples: list[Example]) -> None:
    """h1 exact; h2 has two of three words right, F1 = 2·(2/3)·1/(2/3 + 1) = 0.8; h3 exact by its second gold; g1 wrong;
    g2 is missing and counts as wrong: EM 2/5, F1 2.8/5."""
    scores = score(SQUAD, squad_examples, predicted(h1="1908.", h2="by Ines Moreau", h3="dawn", g1="many"))
    assert scores.metrics["em"] == pytest.approx(40.0)
    assert scores.metrics["f1"] == pytest.approx(56.0)
    assert (scores.examples, scores.missing, scores.unknown) == (5, 1, 0)
    low, high = scores.intervals["em"]
    assert low <= 40.0 <= high


def test_the_metrics_stand_under_their_plain_names_in_one_object(squad_examples: list[Example]) -> None:
    flat = score(SQUAD, squad_examples, predicted(h1="1908")).flat()
    assert flat["em"] == pytest.approx(20.0)
    assert flat["dataset"] == "squad"
    assert {"f1", "intervals", "by_type", "by_keyword", "missing"} <= set(flat)


def test_breakdowns_count_every_example_once(squad_examples: list[Example]) -> None:
    scores = score(SQUAD, squad_examples, predicted(h1="1908", h2="Ines Moreau", h3="noon", g1="412", g2="dusk"))
    assert scores.by_keyword["when"]["examples"] == 3
    assert scores.by_keyword["when"]["em"] == pytest.approx(200 / 3)
    assert scores.by_keyword["who"]["em"] == 100.0
    for groups in (scores.by_type, scores.by_keyword):
        assert sum(group["examples"] for group in groups.values()) == 5


def test_breakdowns_say_how_long_the_answers_are(squad_examples: list[Example]) -> None:
    scores = score(
        SQUAD, squad_examples, predicted(h1="in 1908", h2="Ines Moreau", h3="", g1="412", g2="at the dusk again")
    )
    assert scores.by_keyword["when"]["words"] == 3.0  # two and four; what was declined has no length
    assert scores.by_keyword["who"]["words"] == 2.0
    assert scores.lengths["all"] == 9 / 4


def test_sentences_are_compared_with_sentences_whatever_the_dataset() -> None:
    example = Example(Question("1", "Who?"), (), answers=("Ines Rey",), sentences=("Ines Rey built it.",), kind="who")
    sample = catalog.dataset("sample")
    for style, expected in (("sentence", 100.0), ("short", None)):
        scores = score(sample, [example], {"1": Prediction("1", "Ines Rey built it.", style=style)})
        assert scores.metrics.get("rouge_l") == expected
        assert scores.by_keyword["who"].get("rouge_l") == expected


def test_a_sentence_that_holds_the_answer_is_no_risk() -> None:
    """F1 of the sentence is 2/7, but it tells the answer."""
    example = Example(Question("1", "Who?"), (), answers=("Rey",), answerable=True)
    text = "It was built by a person named Rey."
    for style, expected in (("sentence", 0.0), ("short", 1.0)):
        predictions = {"1": Prediction("1", text, chance=0.9, style=style)}
        assert score(catalog.dataset("sample"), [example], predictions).metrics["aurc"] == expected


def test_predictions_for_another_dataset_are_an_error(squad_examples: list[Example]) -> None:
    with pytest.raises(ScoreError, match="is it the right file"):
        score(SQUAD, squad_examples, predicted(x="y"))
    with pytest.raises(ScoreError, match="no examples"):
        score(SQUAD, [], predicted(x="y"))


def test_rankings_by_hand(tmp_path: Path) -> None:
    """Q1's right sentence is second: AP = RR = 1/2, P@1 = 0; Q2 has no right one and is left out, as trec_eval does."""
    wikiqa = catalog.dataset("wikiqa")
    examples = list(wikiqa.load(write_wikiqa(tmp_path / "WikiQA-dev.tsv"), "dev"))
    first = examples[0]
    ids = [passage.id for passage in first.passages]
    run = {first.question.id: Prediction(first.question.id, ranking=((ids[0], 3.0), (ids[1], 2.0), (ids[2], 1.0)))}
    scores = score(wikiqa, examples, run)
    assert scores.metrics["map"] == pytest.approx(0.5)
    assert scores.metrics["mrr"] == pytest.approx(0.5)
    assert scores.metrics["p_1"] == 0.0


def test_equal_scores_earn_nothing_from_the_order_of_the_dataset() -> None:
    """All scores equal: trec_eval goes by id, the larger first, so the right passage, listed first, comes last."""
    trecqa = catalog.dataset("trecqa")
    passages = (whole("q#0", "right"), whole("q#1", "wrong"), whole("q#2", "wrong"))
    example = Example(Question("q", "?"), passages, relevant=(True, False, False))
    run = {"q": Prediction("q", ranking=(("q#0", 1.0), ("q#1", 1.0), ("q#2", 1.0)))}
    assert score(trecqa, [example], run).metrics["map"] == pytest.approx(1 / 3)


def test_a_declined_answer_is_right_only_where_there_is_none() -> None:
    squad2 = catalog.dataset("squad2")
    passage = whole("p", "It opened in 1908.")
    examples = [
        Example(Question("a", "When?"), (passage,), answers=("1908",), answerable=True),
        Example(Question("b", "Who?"), (passage,), answerable=False),
        Example(Question("c", "Why?"), (passage,), answerable=False),
    ]
    predictions = {
        "a": Prediction("a", "1908", "1908", chance=0.9),
        "b": Prediction("b", "", "Ines", chance=0.2),
        "c": Prediction("c", "1908", "1908", chance=0.6),
    }
    scores = score(squad2, examples, predictions)
    assert scores.metrics["em"] == pytest.approx(200 / 3)
    assert scores.metrics["best_em"] == pytest.approx(100.0)
    assert 0.6 < scores.metrics["best_em_min_chance"] <= 0.9
    assert scores.metrics["answerable_f1"] == pytest.approx(100.0)
    assert scores.metrics["brier"] == pytest.approx((0.1**2 + 0.2**2 + 0.6**2) / 3)
    assert {"precision_recall", "calibration", "risk_coverage"} == set(scores.curves)


def test_sentences_are_compared_with_sentences() -> None:
    marco = catalog.dataset("msmarco")
    example = Example(Question("1", "When?"), answers=("1908",), sentences=("It opened in 1908.",), answerable=True)
    text = "It opened in 1908."
    short = score(marco, [example], {"1": Prediction("1", text, style="short")})
    sentence = score(marco, [example], {"1": Prediction("1", text, style="sentence")})
    assert sentence.metrics["rouge_l"] == pytest.approx(100.0)
    assert sentence.metrics["bleu_1"] == pytest.approx(100.0, abs=1e-3)
    assert short.metrics["rouge_l"] < 60.0


def test_patterns_decide_for_curatedtrec() -> None:
    trec = catalog.dataset("curatedtrec")
    example = Example(Question("1", "When?"), patterns=("19\\d\\d",))
    assert score(trec, [example], predicted(**{"1": "1908"})).metrics["accuracy"] == 100.0
    assert score(trec, [example], predicted(**{"1": "in 1908"})).metrics == {"accuracy": 0.0, "contained": 100.0}


def test_passages_found_are_counted_by_depth() -> None:
    nq = catalog.dataset("nqopen")
    example = Example(Question("1", "When?"), answers=("1908",))
    texts = ("nothing", "nor here", "it was 1908")
    prediction = Prediction("1", "1908", ranking=(("a", 3.0), ("b", 2.0), ("c", 1.0)), texts=texts)
    metrics = score(nq, [example], {"1": prediction}).metrics
    assert (metrics["top_1"], metrics["top_5"]) == (0.0, 100.0)


def test_summaries_are_scored_by_rouge() -> None:
    qmsum = catalog.dataset("qmsum")
    example = Example(Question("1", "What was decided?"), summaries=("The group chose the red button.",))
    metrics = score(qmsum, [example], predicted(**{"1": "The group chose the red button."})).metrics
    assert metrics["rouge_1_f"] == metrics["rouge_l_r"] == metrics["rouge_su4_p"] == pytest.approx(100.0)


def test_two_systems_are_compared_question_by_question(squad_examples: list[Example]) -> None:
    good = predicted(h1="1908", h2="Ines Moreau", h3="dawn", g1="412", g2="dusk")
    bad = predicted(h1="1908", h2="nobody", h3="noon", g1="7", g2="dusk")
    differences = compare(scored(SQUAD, squad_examples, good), scored(SQUAD, squad_examples, bad))
    assert differences["em"].one == pytest.approx(100.0)
    assert differences["em"].difference == pytest.approx(60.0)
    assert 0.0 < differences["em"].t_test_p < 0.1
    same = compare(scored(SQUAD, squad_examples, good), scored(SQUAD, squad_examples, good))
    assert same["em"].t_test_p == 1.0


def test_predictions_without_anything_to_score_are_an_error(tmp_path: Path) -> None:
    wikiqa = catalog.dataset("wikiqa")
    examples = list(wikiqa.load(write_wikiqa(tmp_path / "WikiQA-dev.tsv"), "dev"))[1:]
    with pytest.raises(ScoreError, match="it needs rankings"):
        score(wikiqa, examples, {examples[0].question.id: Prediction(examples[0].question.id)})
