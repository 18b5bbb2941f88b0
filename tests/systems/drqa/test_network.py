"""DrQA's network: padding changes nothing, every part can be left out, and the formulas are those of the paper."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="networks need torch, which a plain install lacks: pip install 'wherefrom[train]'")

import torch
from torch import Tensor

from wherefrom.errors import SettingsError
from wherefrom.networks.spans import best_spans
from wherefrom.systems.drqa.network import DrQANetwork, DrQASettings, Logits, soft_loss, span_loss
from wherefrom.train.seeds import seed_everything

SMALL = DrQASettings(width=6, tuned=3, hidden=5, layers=3, dropout=0.0, pos_tags=4, ner_tags=3)
SWITCHES = ("exact", "pos", "ner", "tf", "align", "concat_layers", "bidirectional")


def network(settings: DrQASettings = SMALL) -> DrQANetwork:
    seed_everything("drqa")
    return DrQANetwork(settings).eval()


def inputs(settings: DrQASettings, asked: list[int], told: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Questions, passages and features, with noise where padding is."""
    seed_everything("inputs")
    batch = len(asked)
    return (
        torch.randn(batch, max(asked), settings.width),
        torch.randn(batch, max(told), settings.width),
        torch.randn(batch, max(told), settings.features),
    )


@pytest.mark.parametrize("off", [None, *SWITCHES])
def test_a_passage_alone_equals_the_passage_among_longer_ones(off: str | None) -> None:
    settings = replace(SMALL, **{off: False}) if off else SMALL
    model = network(settings)
    asked, told = [2, 4, 3], [5, 3, 9]
    question, passage, features = inputs(settings, asked, told)
    together = model(question, asked, passage, told, features)
    for row, (m, n) in enumerate(zip(asked, told, strict=True)):
        here = slice(row, row + 1)
        alone = model(question[here, :m], [m], passage[here, :n], [n], features[here, :n])
        for one, all_of in zip(alone, together, strict=True):
            torch.testing.assert_close(one[0], all_of[row, :n], rtol=1e-5, atol=1e-6)
            assert torch.isneginf(all_of[row, n:]).all()


def test_the_numbers_are_those_of_the_formulas() -> None:
    """One question of two words over a passage of three, worked through without masks or packing."""
    model = network()
    question, passage, features = inputs(SMALL, [2], [3])
    found = model(question, [2], passage, [3], features)
    assert model.closeness is not None
    q, p = question[0], passage[0]
    close = torch.relu(model.closeness(p)) @ torch.relu(model.closeness(q)).T
    aligned = torch.softmax(close, 1) @ q

    def stacked(lstms: torch.nn.ModuleList, given: Tensor) -> Tensor:
        outputs = []
        for lstm in lstms:
            given, _ = lstm(given)
            outputs.append(given)
        return torch.cat(outputs, 1)

    read = stacked(model.passage.lstms, torch.cat([p, features[0], aligned], 1))
    heard = stacked(model.question.lstms, q)
    assert read.shape == (3, 30)  # three layers, two directions, five units
    weights = torch.softmax((heard @ model.weight.weight.T).squeeze(1) + model.weight.bias, 0)
    whole = weights @ heard
    torch.testing.assert_close(found.start[0], read @ model.start(whole))
    torch.testing.assert_close(found.end[0], read @ model.end(whole))


def test_only_the_commonest_question_words_learn() -> None:
    model = network()
    table = torch.randn(8, 6)
    words = torch.tensor([[0, 1, 3, 4, 7]])
    vectors = model.vectors(words, table)
    torch.testing.assert_close(vectors[0, [0, 3, 4]], table[[0, 4, 7]])
    torch.testing.assert_close(vectors[0, [1, 2]], model.tuned.weight[[1, 3]])
    vectors.sum().backward()
    assert model.tuned.weight.grad is not None
    assert model.tuned.weight.grad.abs().sum(1).gt(0).tolist() == [False, True, False, True]


def test_features_are_those_switched_on_in_a_fixed_order() -> None:
    exact, pos, ner, tf = torch.tensor([[[1, 0, 1]]]), torch.tensor([[2]]), torch.tensor([[1]]), torch.tensor([[0.25]])
    assert network().features(exact, pos, ner, tf).tolist() == [[[1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0.25]]]
    only_ner = replace(SMALL, exact=False, pos=False, tf=False)
    assert network(only_ner).features(exact, pos, ner, tf).tolist() == [[[0, 1, 0]]]
    none = replace(only_ner, ner=False)
    assert network(none).features(exact, pos, ner, tf).shape == (1, 1, 0)


def test_the_span_loss_is_minus_the_log_of_start_and_end() -> None:
    logits = Logits(torch.tensor([[0.0, 0.0, -torch.inf]]), torch.log(torch.tensor([[0.2, 0.3, 0.5]])))
    first, last = torch.tensor([[True, False, False]]), torch.tensor([[False, True, True]])
    # P_start = 1/2; two ends are right, P_end = 0.3 + 0.5
    assert span_loss(logits, first, last).item() == pytest.approx(-torch.tensor([0.5, 0.8]).log().sum().item())


def test_the_soft_loss_is_a_cross_entropy() -> None:
    logits = Logits(torch.log(torch.tensor([[0.5, 0.5, 0.0]])), torch.log(torch.tensor([[0.25, 0.75, 0.0]])))
    told = torch.tensor([[0.5, 0.5, 0.0]])
    wanted = -(0.5 * torch.tensor([0.5, 0.5, 0.25, 0.75]).log()).sum().item()
    assert soft_loss(logits, told, told, 1.0).item() == pytest.approx(wanted)


def test_at_a_temperature_of_two_the_student_is_softened_too() -> None:
    logits = Logits(torch.tensor([[0.0, 4.0]]), torch.tensor([[0.0, 0.0]]))
    softened = torch.log_softmax(torch.tensor([0.0, 2.0]), 0)
    wanted = 4 * (-softened[1].item() - torch.tensor(0.5).log().item())
    told = torch.tensor([[0.0, 1.0]])
    assert soft_loss(logits, told, told, 2.0).item() == pytest.approx(wanted)


def test_the_best_span_is_short_enough_and_ties_go_to_the_earlier_and_shorter() -> None:
    """As the task takes it; padding, which is minus infinity here, is never part of one."""

    def best(start: list[float], end: list[float], longest: int) -> tuple[int, int]:
        spans = best_spans(torch.tensor([start]), torch.tensor([end]), longest, 1)
        return int(spans.start), int(spans.end)

    start, end, padding = [5.0, 0.0, 4.0, 0.0], [0.0, 1.0, 1.0, 9.0], [-torch.inf] * 2
    for longest, span in ((4, (0, 3)), (3, (2, 3))):
        assert best(start, end, longest) == best(start + padding, end + padding, longest) == span
    assert best([0.0] * 3, [0.0] * 3, 3) == (0, 0)
    assert best([0.0, 9.0], [9.0, 0.0], 2) == (0, 0)
    assert best([-1e4, *padding], [-1e4, *padding], 9) == (0, 0)


def test_settings_that_make_no_sense_are_named() -> None:
    with pytest.raises(SettingsError, match=r"network\.layers must be above 0, not 0"):
        DrQASettings(layers=0)
