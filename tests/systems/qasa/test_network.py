"""QASA's network, equation by equation, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch
from torch import Tensor

from wherefrom.systems.qasa.network import QasaNetwork, WordTexts, margin_loss
from wherefrom.systems.qasa.settings import QasaNetworkSettings
from wherefrom.train.seeds import seed_everything

SMALL = QasaNetworkSettings(character=2, character_hidden=2, hidden=3, encoding=2, attention=4, scoring=3, dropout=0.0)


def network(**changed: object) -> QasaNetwork:
    seed_everything("qasa")
    from dataclasses import replace

    return QasaNetwork(3, replace(SMALL, **changed)).eval()  # type: ignore[arg-type]


def texts(*rows: list[int]) -> WordTexts:
    longest = max(map(len, rows))
    return WordTexts(
        torch.tensor([row + [0] * (longest - len(row)) for row in rows]), torch.tensor([len(row) for row in rows])
    )


def set_to(parameter: Tensor, *values: object) -> None:
    with torch.no_grad():
        parameter.copy_(torch.tensor(values))


def test_a_word_is_its_vector_beside_the_last_states_of_its_letters() -> None:
    """One unit: i = f = o = sigmoid(0) = 1/2, g = tanh(x), c = c / 2 + g / 2, h = tanh(c) / 2."""
    made = network(character=1, character_hidden=1)
    for name, parameter in made.spelling.named_parameters():
        with torch.no_grad():
            parameter.zero_()
            if name.startswith("weight_ih"):
                parameter[2] = 1.0  # the gate g
    set_to(made.character.weight[1], 2.0)
    set_to(made.character.weight[2], -1.0)
    vectors = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    embedded = made.embed(vectors, torch.tensor([[1, 2], [1, 0]]), torch.tensor([2, 1]))
    once = 0.5 * math.tanh(2.0)
    forward, backward = 0.5 * once + 0.5 * math.tanh(-1.0), 0.5 * (0.5 * math.tanh(-1.0)) + once
    assert embedded[0].tolist() == pytest.approx(
        [1, 2, 3, 0.5 * math.tanh(forward), 0.5 * math.tanh(backward)], abs=1e-6
    )
    assert embedded[1].tolist() == pytest.approx([4, 5, 6, *[0.5 * math.tanh(once)] * 2], abs=1e-6)


def test_a_word_without_letters_has_its_vector_alone() -> None:
    embedded = network().embed(torch.ones(1, 3), torch.zeros(1, 4, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    assert embedded[0].tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_a_question_is_two_layers_over_the_last_states() -> None:
    made = network()
    words = torch.randn(4, 7)
    states, _ = made.context(words[None, [2, 0, 3]])
    last = torch.cat([states[0, -1, :3], states[0, 0, 3:]])  # forward at the end, backward at the beginning
    expected = made.question.weight @ torch.relu(made.condense.weight @ last)
    encoded = made.encode_question(words, texts([2, 0, 3], [1]))
    assert encoded[0].tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def test_a_passage_is_the_sum_of_its_states_by_attention_that_has_read_the_question() -> None:
    made = network()
    assert made.attend is not None
    assert made.weigh is not None
    words, question = torch.randn(4, 7), torch.tensor([[0.5, -1.0]])
    states, _ = made.context(words[None, [1, 2, 3]])
    logits = [
        (made.weigh.weight @ torch.relu(made.attend.weight @ torch.cat([state, question[0]]))).item()
        for state in states[0]
    ]
    total = sum(math.exp(logit) for logit in logits)
    summed = sum(math.exp(logit) / total * state for logit, state in zip(logits, states[0], strict=True))
    encoded = made.encode_passage(words, texts([1, 2, 3], [0, 1, 2]), question.expand(2, 2))
    assert encoded[0].tolist() == pytest.approx((made.passage.weight @ summed).tolist(), abs=1e-6)
    other = made.encode_passage(words, texts([1, 2, 3]), torch.tensor([[3.0, 2.0]]))
    assert other[0].tolist() != pytest.approx(encoded[0].tolist(), abs=1e-4)


def test_in_the_kickout_model_a_passage_is_encoded_as_a_question_is_by_layers_of_its_own() -> None:
    made = network(passage_encoder="question_style")
    words, given = torch.randn(4, 7), texts([1, 2, 3])
    assert made.attend is None
    assert made.shorten is not None
    asked = made.encode_question(words, given)
    encoded = made.encode_passage(words, given, torch.randn(1, 2))
    assert encoded[0].tolist() != pytest.approx(asked[0].tolist(), abs=1e-4)
    made.shorten.load_state_dict(made.condense.state_dict())
    made.passage.load_state_dict(made.question.state_dict())
    assert made.encode_passage(words, given, torch.randn(1, 2)).tolist() == asked.tolist()


def test_a_score_is_learnt_of_both_their_product_and_their_difference() -> None:
    made = network(scoring=1)
    set_to(made.compare.weight[0], 1.0, 1.0, 2.0, 0.0, 1.0, 3.0, 0.5, 4.0)
    set_to(made.judge.weight[0], -2.0)
    with torch.no_grad():
        made.judge.bias.fill_(0.25)
    question, passage = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, -1.0]])
    # x = [1, 2, 3, -1, 3, -2, 2, 3]; W x = 1 + 2 + 6 + 0 + 3 - 6 + 1 + 12 = 19
    assert made.score(question, passage).item() == pytest.approx(-2 * 19 + 0.25)


def test_what_stands_behind_a_text_changes_nothing() -> None:
    made = network()
    words = torch.randn(5, 7)
    alone = made(words, texts([1, 2]), texts([3, 4]), torch.tensor([0]))
    beside = made(words, texts([1, 2], [0, 1, 2, 3]), texts([3, 4], [1, 2, 3, 0]), torch.tensor([0, 1]))
    assert beside[0].item() == pytest.approx(alone[0].item(), abs=1e-6)


def test_every_positive_meets_every_negative_of_its_own_question() -> None:
    scores = torch.tensor([2.0, 0.5, 1.8, -1.0, 9.0, 0.0])
    group, positive = torch.tensor([0, 0, 0, 0, 1, 1]), torch.tensor([True, True, False, False, False, True])
    # question 0: 1 - 2 + 1.8, 1 - 2 - 1 < 0, 1 - 0.5 + 1.8, 1 - 0.5 - 1 < 0; question 1: 1 - 0 + 9
    assert margin_loss(scores, group, positive, 1.0).item() == pytest.approx((0.8 + 0 + 2.3 + 0 + 10) / 5)


def test_first_weights_are_glorots() -> None:
    weight = QasaNetwork(100, QasaNetworkSettings()).compare.weight  # 512 to 50
    assert weight.std().item() == pytest.approx(math.sqrt(2 / 562), rel=0.05)


def test_only_hidden_units_are_dropped() -> None:
    """Dropped word vectors and states drown what two texts have in common: q * d and |q - d| are then mostly noise."""
    made = QasaNetwork(3, QasaNetworkSettings()).train()
    words = torch.randn(4, 3)
    letters, counts = torch.ones(4, 2, dtype=torch.long), torch.full((4,), 2)
    embedded = made.embed(words, letters, counts)
    assert embedded[:, :3].tolist() == words.tolist()
    assert torch.equal(embedded, made.embed(words, letters, counts))
    question = made.encode_question(embedded, texts([1, 2]))
    assert not torch.equal(question, made.encode_question(embedded, texts([1, 2])))
    everything = QasaNetwork(3, QasaNetworkSettings(dropout_inputs=0.5)).train()
    assert (everything.embed(words, letters, counts)[:, :3] == 0).any()


def test_forget_gates_begin_open() -> None:
    made = QasaNetwork(3, QasaNetworkSettings())
    for lstm in (made.spelling, made.context):
        units = lstm.hidden_size
        for way in ("", "_reverse"):
            bias = getattr(lstm, f"bias_ih_l0{way}") + getattr(lstm, f"bias_hh_l0{way}")
            assert bias.tolist() == [0.0] * units + [1.0] * units + [0.0] * 2 * units
