"""The reader network: its heads and masks, every loss against a number worked out by hand, spans and token maps."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from wherefrom.errors import SettingsError, WherefromError  # noqa: E402
from wherefrom.networks.encoder import NEVER, EncoderSettings  # noqa: E402
from wherefrom.networks.spans import (  # noqa: E402
    HeadSettings,
    ReaderNetwork,
    ReaderOutput,
    best_spans,
    group_log_sum_exp,
    no_answer_slot,
    relevance_loss,
    span_loss,
    token_map,
    truth_loss,
)
from wherefrom.systems.reader.network import distillation_loss  # noqa: E402

BERT = EncoderSettings("bert", words=50, width=12, layers=3, heads=3, inner=20, positions=40, types=2)
MPNET = EncoderSettings(
    "mpnet", words=50, width=12, layers=3, heads=3, inner=20, positions=42, first_position=2, buckets=32, padding=1
)
BOTH = pytest.mark.parametrize("settings", [BERT, MPNET], ids=["bert", "mpnet"])
LOG = math.log


def batch(settings: EncoderSettings) -> dict[str, torch.Tensor]:
    """Two pairs: 3 + 4 tokens of question and passage with the special ones between, and 3 + 2 padded."""
    torch.manual_seed(3)
    mask = torch.arange(10)[None, :] < torch.tensor([[10], [8]])
    places = torch.arange(10)[None, :]
    passage = (places >= 5) & (places < torch.tensor([[9], [7]]))
    tokens = torch.randint(2, 50, (2, 10)).masked_fill(~mask, settings.padding)
    return {"tokens": tokens, "mask": mask, "passage": passage, "types": (places >= 5).long() * mask}


def output(start: list[list[float]], end: list[list[float]], no_answer: list[float]) -> ReaderOutput:
    """Logits given as the logarithms of easy numbers: `start` and `end` hold weights, 0 for outside the passage."""

    def logits(weights: list[list[float]]) -> torch.Tensor:
        return torch.tensor([[LOG(weight) if weight else NEVER for weight in row] for row in weights])

    slots = torch.tensor([LOG(weight) for weight in no_answer])
    return ReaderOutput(torch.zeros(len(start)), logits(start), logits(end), slots, torch.zeros(len(start)))


# The network


@BOTH
def test_scores_the_pair_and_each_token_of_the_passage(settings: EncoderSettings) -> None:
    pairs = batch(settings)
    found = ReaderNetwork(settings, HeadSettings(inner=5))(**pairs)
    assert found.relevance.shape == found.no_answer.shape == (2,)
    assert found.start.shape == found.end.shape == (2, 10)
    for logits in (found.start, found.end):
        assert (logits[~pairs["passage"]] == NEVER).all()
        assert (logits[pairs["passage"]] > NEVER / 2).all()


@BOTH
def test_a_batch_equals_one_by_one(settings: EncoderSettings) -> None:
    network = ReaderNetwork(settings).eval()
    pairs = batch(settings)
    together = network(**pairs)
    alone = network(**{name: values[1:2, :8] for name, values in pairs.items()})
    torch.testing.assert_close(together.relevance[1:], alone.relevance)
    torch.testing.assert_close(together.no_answer[1:], alone.no_answer)
    torch.testing.assert_close(together.start[1:, :8], alone.start)
    torch.testing.assert_close(together.end[1:, :8], alone.end)


def test_logits_are_float32_in_mixed_precision() -> None:
    network = ReaderNetwork(BERT)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = network(**batch(BERT))
    assert {logits.dtype for logits in found} == {torch.float32}


@BOTH
def test_every_weight_learns(settings: EncoderSettings) -> None:
    network = ReaderNetwork(settings)
    pairs = batch(settings)
    group = torch.tensor([0, 0])
    found = network(**pairs)
    gold = torch.zeros(2, 10, dtype=torch.bool)
    gold[0, 6] = True
    loss = span_loss(found, gold, gold, group, 1) + relevance_loss(found.relevance, gold.any(1), group, 1)
    decided = truth_loss(found.truth, torch.tensor([1, 0]), torch.tensor([True, True]))
    (loss + decided).backward()
    assert [name for name, weight in network.named_parameters() if weight.grad is None] == []


def test_keeping_layers_keeps_the_heads() -> None:
    network = ReaderNetwork(BERT, HeadSettings(inner=5)).eval()
    kept = network.keeping([0, 2])
    assert len(kept.encoder.layers) == 2
    assert torch.equal(kept.span.weight, network.span.weight)
    assert kept.heads == network.heads
    assert not kept.training
    everything = network.keeping([0, 1, 2])(**batch(BERT))
    for same, expected in zip(everything, network(**batch(BERT)), strict=True):
        torch.testing.assert_close(same, expected)


def test_refuses_heads_that_cannot_be() -> None:
    with pytest.raises(SettingsError, match=r"heads\.inner is 0"):
        HeadSettings(inner=0)
    with pytest.raises(SettingsError, match=r"heads\.dropout is 1"):
        HeadSettings(dropout=1)


# Groups


def test_sums_over_each_group_in_any_order() -> None:
    logits = torch.tensor([LOG(1), LOG(2), LOG(3), LOG(4)])
    found = group_log_sum_exp(logits, torch.tensor([1, 0, 1, 0]), groups=3)
    torch.testing.assert_close(found, torch.tensor([LOG(6), LOG(4), NEVER]))


def test_large_logits_do_not_overflow() -> None:
    found = group_log_sum_exp(torch.tensor([1000.0, 1000.0, -20000.0]), torch.tensor([0, 0, 1]), groups=2)
    torch.testing.assert_close(found, torch.tensor([1000 + LOG(2), -20000.0]))


def test_one_passage_that_answers_rules_no_answer_out() -> None:
    # Odds of answering 1/4, 8 and 1/4 add up to 8.5, so the slot's odds are 2/17.
    slot = no_answer_slot(torch.tensor([LOG(4), LOG(1 / 8), LOG(4)]), torch.tensor([0, 0, 0]), groups=1)
    torch.testing.assert_close(slot, torch.tensor([LOG(2 / 17)]))


# The span loss: weights 1 to 4 make the probabilities easy to see

TWO_PASSAGES = output(start=[[0, 1, 2], [0, 3, 4]], end=[[0, 2, 2], [0, 2, 2]], no_answer=[4, 4])  # slot: 2
START = torch.tensor([[0, 0, 1], [0, 0, 0]], dtype=torch.bool)
END = torch.tensor([[0, 0, 1], [0, 0, 0]], dtype=torch.bool)
NONE = torch.zeros_like(START)
ONE_QUESTION = torch.tensor([0, 0])
TWO_QUESTIONS = torch.tensor([0, 1])


def test_passages_of_a_question_share_one_softmax() -> None:
    # start 2 of 1 + 2 + 3 + 4, end 2 of 2 + 2 + 2 + 2
    loss = span_loss(TWO_PASSAGES, START, END, ONE_QUESTION, 1, with_no_answer=False)
    assert loss.item() == pytest.approx(-(LOG(2 / 10) + LOG(2 / 8)) / 2)


def test_the_no_answer_slot_takes_its_share() -> None:
    loss = span_loss(TWO_PASSAGES, START, END, ONE_QUESTION, 1)
    assert loss.item() == pytest.approx(-(LOG(2 / 12) + LOG(2 / 10)) / 2)


def test_a_question_without_gold_should_choose_the_slot() -> None:
    loss = span_loss(TWO_PASSAGES, NONE, NONE, ONE_QUESTION, 1)
    assert loss.item() == pytest.approx(-(LOG(2 / 12) + LOG(2 / 10)) / 2)
    loss = span_loss(TWO_PASSAGES._replace(no_answer=torch.tensor([LOG(200), LOG(200)])), NONE, NONE, ONE_QUESTION, 1)
    assert loss.item() == pytest.approx(-(LOG(100 / 110) + LOG(100 / 108)) / 2)


def test_several_gold_spans_are_added_up() -> None:
    start = torch.tensor([[0, 0, 1], [0, 1, 0]], dtype=torch.bool)  # 2 + 3
    end = torch.tensor([[0, 0, 1], [0, 1, 1]], dtype=torch.bool)  # 2 + 2 + 2
    loss = span_loss(TWO_PASSAGES, start, end, ONE_QUESTION, 1, with_no_answer=False)
    assert loss.item() == pytest.approx(-(LOG(5 / 10) + LOG(6 / 8)) / 2)


def test_one_passage_a_question_is_the_plain_softmax() -> None:
    loss = span_loss(TWO_PASSAGES, START, END, TWO_QUESTIONS, 2, with_no_answer=False)
    assert loss.item() == pytest.approx(-(LOG(2 / 3) + LOG(2 / 4)) / 2)  # the second question has no gold: left out
    loss = span_loss(TWO_PASSAGES, START, END, TWO_QUESTIONS, 2)
    first = -(LOG(2 / 7) + LOG(2 / 8)) / 2
    second = -(LOG(4 / 11) + LOG(4 / 8)) / 2
    assert loss.item() == pytest.approx((first + second) / 2)


def test_nothing_to_learn_is_no_loss() -> None:
    logits = TWO_PASSAGES.start.clone().requires_grad_()
    loss = span_loss(TWO_PASSAGES._replace(start=logits), NONE, NONE, ONE_QUESTION, 1, with_no_answer=False)
    loss.backward()
    assert loss.item() == 0
    assert torch.isfinite(logits.grad).all()


def test_logits_outside_the_passages_change_nothing() -> None:
    padded = ReaderOutput(
        torch.zeros(2),
        torch.nn.functional.pad(TWO_PASSAGES.start, (0, 7), value=NEVER),
        torch.nn.functional.pad(TWO_PASSAGES.end, (0, 7), value=NEVER),
        TWO_PASSAGES.no_answer,
        TWO_PASSAGES.truth,
    )
    gold = torch.nn.functional.pad(START, (0, 7))
    torch.testing.assert_close(
        span_loss(padded, gold, gold, ONE_QUESTION, 1), span_loss(TWO_PASSAGES, START, END, ONE_QUESTION, 1)
    )


# The relevance loss


def test_pointwise_relevance_is_cross_entropy() -> None:
    relevance = torch.tensor([LOG(3), LOG(3), LOG(1 / 4)])  # probabilities 3/4, 3/4, 1/5
    loss = relevance_loss(relevance, torch.tensor([1, 0, 0]), torch.tensor([0, 0, 0]), 1)
    assert loss.item() == pytest.approx(-(LOG(3 / 4) + LOG(1 / 4) + LOG(4 / 5)) / 3)


def test_listwise_relevance_ranks_within_a_question() -> None:
    relevance = torch.tensor([LOG(1), LOG(2), LOG(3), LOG(4), LOG(5)])
    gold = torch.tensor([0, 1, 1, 1, 0])
    group = torch.tensor([0, 0, 0, 1, 2])  # the third question has nothing relevant
    loss = relevance_loss(relevance, gold, group, 3, form="list")
    assert loss.item() == pytest.approx((-(LOG(2 / 6) + LOG(3 / 6)) / 2 + 0) / 2)


# The distillation loss

INSIDE = torch.tensor([[0, 1, 1], [0, 1, 1]], dtype=torch.bool)


def test_a_student_like_its_teacher_has_no_loss() -> None:
    shifted = TWO_PASSAGES._replace(start=TWO_PASSAGES.start + 5)  # a softmax does not see a constant
    loss = distillation_loss(TWO_PASSAGES, shifted, INSIDE, ONE_QUESTION, 1, with_no_answer=False)
    assert loss.item() == pytest.approx(0, abs=1e-6)


def test_divergence_from_the_teacher_over_all_passages() -> None:
    student = output(start=[[0, 1, 1], [0, 1, 1]], end=[[0, 2, 2], [0, 2, 2]], no_answer=[4, 4])
    loss = distillation_loss(student, TWO_PASSAGES, INSIDE, ONE_QUESTION, 1, temperature=1, with_no_answer=False)
    divergence = sum(p * LOG(p / 0.25) for p in (0.1, 0.2, 0.3, 0.4))  # ends agree
    assert loss.item() == pytest.approx(divergence / 2)


def test_the_slot_is_distilled_too() -> None:
    student = output(start=[[0, 2, 2], [0, 2, 2]], end=[[0, 2, 2], [0, 2, 2]], no_answer=[4, 4])  # slot 2: all 1/5
    teacher = output(start=[[0, 2, 2], [0, 2, 2]], end=[[0, 2, 2], [0, 2, 2]], no_answer=[16, 16])  # slot 8 of 16
    loss = distillation_loss(student, teacher, INSIDE, ONE_QUESTION, 1, temperature=1)
    assert loss.item() == pytest.approx(4 * LOG(5 / 8) / 8 + LOG(5 / 2) / 2)


def test_temperature_softens_both_and_scales_the_loss() -> None:
    student = output(start=[[1, 1]], end=[[1, 1]], no_answer=[1])
    teacher = output(start=[[1, 9]], end=[[1, 1]], no_answer=[1])  # at temperature 2: 1 to 3
    one = torch.tensor([0])
    loss = distillation_loss(student, teacher, torch.ones(1, 2), one, 1, temperature=2, with_no_answer=False)
    divergence = 0.25 * LOG(0.25 / 0.5) + 0.75 * LOG(0.75 / 0.5)
    assert loss.item() == pytest.approx(4 * divergence / 2)


def test_the_teacher_is_not_taught() -> None:
    given = TWO_PASSAGES.start.clone().requires_grad_()
    learned = torch.zeros(2, 3, requires_grad=True)
    loss = distillation_loss(
        TWO_PASSAGES._replace(start=learned), TWO_PASSAGES._replace(start=given), INSIDE, ONE_QUESTION, 1
    )
    loss.backward()
    assert given.grad is None
    assert (learned.grad[:, 0] == 0).all()  # outside the passage
    assert torch.isfinite(learned.grad).all()


# Spans


def test_best_spans_agree_with_trying_them_all() -> None:
    torch.manual_seed(5)
    start, end = torch.randn(4, 12), torch.randn(4, 12)
    start[:, :3] = end[:, :3] = NEVER
    start[1, 9:] = end[1, 9:] = NEVER
    found = best_spans(start, end, max_tokens=4, n=5)
    for row in range(4):
        tried = sorted(
            ((start[row, i] + end[row, j]).item(), i, j) for i in range(12) for j in range(i, min(i + 4, 12))
        )[::-1][:5]
        assert list(zip(found.start[row].tolist(), found.end[row].tolist(), strict=True)) == [t[1:] for t in tried]
        assert found.score[row].tolist() == pytest.approx([t[0] for t in tried])


def test_ties_go_to_the_earlier_then_the_shorter_span() -> None:
    found = best_spans(torch.zeros(1, 3), torch.zeros(1, 3), max_tokens=2, n=9)
    pairs = list(zip(found.start[0].tolist(), found.end[0].tolist(), strict=True))
    assert pairs[:5] == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)]
    assert (found.score[0, 5:] < NEVER).all()  # no more spans inside the text


# Token maps

STUDENT = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "the": 5, "##s": 6}
TEACHER = {
    "<s>": 0,
    "<pad>": 1,
    "</s>": 2,
    "<unk>": 3,
    "[PAD]": 4,
    "[UNK]": 5,
    "[CLS]": 6,
    "[SEP]": 7,
    "[MASK]": 8,
    "the": 9,
    "##s": 10,
    "<mask>": 11,
}


def test_maps_words_to_themselves_and_special_tokens_to_their_twins() -> None:
    assert token_map(STUDENT, TEACHER).tolist() == [1, 5, 0, 2, 11, 9, 10]


def test_a_vocabulary_maps_onto_itself() -> None:
    assert token_map(STUDENT, STUDENT).tolist() == list(range(7))


def test_refuses_vocabularies_that_differ() -> None:
    with pytest.raises(WherefromError, match="lacks 1 of the student's 8 tokens, such as 'cat'"):
        token_map(STUDENT | {"cat": 7}, TEACHER)


def test_yes_and_no_are_learnt_from_the_pairs_that_decide() -> None:
    truth, target = torch.tensor([2.0, -1.0, 5.0]), torch.tensor([1, 0, -1])
    decided = torch.tensor([True, True, False])
    expected = (math.log1p(math.exp(-2.0)) + math.log1p(math.exp(-1.0))) / 2
    assert float(truth_loss(truth, target, decided)) == pytest.approx(expected)
    assert float(truth_loss(truth, target, torch.zeros(3, dtype=torch.bool))) == 0.0
