"""The pointer-generator: mixtures, shares and losses against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as some  # noqa: E402

from wherefrom.errors import SettingsError  # noqa: E402
from wherefrom.networks.encoder import NEVER  # noqa: E402
from wherefrom.networks.pointer import (  # noqa: E402
    CopySource,
    Mixture,
    PointerGenerator,
    Step,
    Support,
    combined_attention,
    dense,
    generation_loss,
    shares,
)

LOG = math.log


def log(values: object) -> torch.Tensor:
    return torch.tensor(values).log()


def close(actual: torch.Tensor, expected: object) -> None:
    torch.testing.assert_close(actual, torch.as_tensor(expected), atol=1e-5, rtol=1e-5)


def source(tokens: list[list[int]], real: list[int] | None = None) -> CopySource:
    given = torch.tensor(tokens)
    lengths = torch.tensor(real if real is not None else [given.shape[1]] * len(given))
    mask = torch.arange(given.shape[1])[None, :] < lengths[:, None]
    return CopySource.plain(torch.randn(*given.shape, 4), given, mask)


# Six words; 0 is padding and never written. One row, one step: lambda = (1/2, 1/4, 1/4);
# P^v = (-, .4, .3, .2, .1, 0); the question is 2 5 with alpha (1/2, 1/2), the passages 5 5 1 with (1/4, 1/4, 1/2).
QUESTION, PASSAGES = source([[2, 5]]), source([[5, 5, 1]])
SOURCES = (QUESTION, PASSAGES)
POINTER = PointerGenerator(4, 3, 2, "dot", Support(6, never=[0]))
MIXTURE = Mixture(
    log([[[1e-30, 0.4, 0.3, 0.2, 0.1, 1e-30]]]),
    (log([[[0.5, 0.5]]]), log([[[0.25, 0.25, 0.5]]])),
    log([[[0.5, 0.25, 0.25]]]),
)


def test_the_mixture_by_hand() -> None:
    """P(1) = .2 + .125, P(2) = .15 + .125, P(3) = .1, P(4) = .05, P(5) = .125 + .125."""
    step = POINTER.step(MIXTURE, SOURCES)
    close(dense(step, SOURCES), [[0, 0.325, 0.275, 0.1, 0.05, 0.25]])
    target = torch.tensor([[1]])
    for token, expected in ((1, 0.325), (2, 0.275), (3, 0.1), (4, 0.05), (5, 0.25)):
        actual, known = POINTER.target_log_probability(MIXTURE, SOURCES, target * token)
        close(actual, [[LOG(expected)]])
        assert known.all()


def test_shares_by_hand() -> None:
    step = POINTER.step(MIXTURE, SOURCES)
    of_five = shares(step, SOURCES, torch.tensor([5]))  # .125 from the question, .0625 from each place
    close(of_five.vocabulary, [0.0])
    close(of_five.copied[0], [[0, 0.5]])
    close(of_five.copied[1], [[0.25, 0.25, 0]])
    of_one = shares(step, SOURCES, torch.tensor([1]))
    close(of_one.vocabulary, [0.2 / 0.325])
    close(of_one.copied[1], [[0, 0, 0.125 / 0.325]])


def test_a_token_forced_by_a_rule_is_the_vocabularys() -> None:
    step = Step(torch.zeros(1, 6), (torch.zeros(1, 2), torch.zeros(1, 3)))
    assert shares(step, SOURCES, torch.tensor([4])).vocabulary.tolist() == [1.0]


def test_an_unknown_token_is_told_apart() -> None:
    pointer = PointerGenerator(4, 3, 2, "dot", Support(6, never=[0, 3]))
    _, known = pointer.target_log_probability(MIXTURE, SOURCES, torch.tensor([[3]]))
    assert not known.any()
    _, known = pointer.target_log_probability(MIXTURE, (source([[3, 3]]), PASSAGES), torch.tensor([[3]]))
    assert known.all()  # it can be copied


def test_a_masked_place_is_no_place_to_copy_from() -> None:
    sources = (source([[2, 4]], real=[1]), PASSAGES)
    pointer = PointerGenerator(4, 3, 2, "dot", Support(6, never=[0, 4]))
    actual, known = pointer.target_log_probability(MIXTURE, sources, torch.tensor([[4]]))
    assert not known.any()
    assert torch.isfinite(actual).all()


# Combined attention


def test_combined_attention_by_hand() -> None:
    """alpha (.5, .25, .25) with beta .9 for the first two and .1 for the third: (.45, .225, .025) / .7."""
    weight = log([[0.9, 0.9, 0.1]])
    actual = combined_attention(log([[[0.5, 0.25, 0.25]]]), weight, torch.ones(1, 3, dtype=torch.bool))
    close(actual.exp(), [[[0.45 / 0.7, 0.225 / 0.7, 0.025 / 0.7]]])


def test_combined_attention_shuts_out_a_passage_of_no_weight() -> None:
    actual = combined_attention(torch.zeros(1, 1, 3), torch.tensor([[0.0, 0.0, NEVER]]), torch.ones(1, 3) > 0)
    close(actual.exp(), [[[0.5, 0.5, 0.0]]])


# The module


def made(sources: int, support: Support, tied: bool = False, copy: str = "dot") -> PointerGenerator:
    torch.manual_seed(5)
    return PointerGenerator(4, 3, sources, copy, support, tied)  # type: ignore[arg-type]


@pytest.mark.parametrize("copy", ["dot", "additive"])
def test_all_probability_adds_up_to_one(copy: str) -> None:
    pointer = made(2, Support(6, [0]), copy=copy)
    sources = (source([[2, 5, 0], [3, 1, 4]], real=[2, 3]), source([[1, 0], [0, 0]], real=[1, 0]))
    mixture = pointer(torch.randn(2, 1, 4), sources, pointer.keys(sources))
    step = pointer.step(mixture, sources)
    close(dense(step, sources).sum(dim=1), [1.0, 1.0])
    close(step.copied[1][1], [0.0, 0.0])  # nothing comes from the empty source
    close(mixture.parts[1, 0, 2].exp(), 0.0)


def test_the_parts_come_from_the_state_and_the_contexts() -> None:
    pointer = made(1, Support(6, [0]))
    one = source([[2, 5, 3]])
    states = torch.randn(1, 1, 4)
    mixture = pointer(states, [one], pointer.keys([one]))
    context = mixture.copied[0][0, 0].exp() @ one.states[0]
    expected = pointer.parts(torch.cat([states[0, 0], context])).softmax(dim=-1)
    close(mixture.parts[0, 0].exp(), expected)


@settings(max_examples=20, deadline=None)
@given(
    some.lists(some.integers(0, 7), min_size=1, max_size=6), some.lists(some.integers(0, 7), max_size=5), some.data()
)
def test_training_and_writing_agree(question: list[int], passages: list[int], data: some.DataObject) -> None:
    """The target's gathered probability is the dense one, whatever stands where."""
    chosen = data.draw(some.sampled_from(["all", "common", "input"]))
    common = None if chosen == "all" else torch.tensor([1, 4, 6])
    pointer = made(2, Support(8, [0], common, chosen == "input"))
    sources = (source([question]), source([passages or [0]], real=[len(passages)]))
    mixture = pointer(torch.randn(1, 1, 4), sources, pointer.keys(sources))
    everything = dense(pointer.step(mixture, sources), sources)
    for token in range(8):
        actual, known = pointer.target_log_probability(mixture, sources, torch.tensor([[token]]))
        if known.all():
            close(actual.exp()[0], everything[:, token])
        else:
            assert everything[0, token].item() < 1e-6
        part = shares(pointer.step(mixture, sources), sources, torch.tensor([token]))
        close(part.vocabulary + sum(each.sum(dim=1) for each in part.copied), [1.0])


# Support


def test_words_outside_the_support_are_never_written() -> None:
    states, sources = torch.randn(1, 1, 4), (source([[2, 5, 0]], real=[2]),)

    def written(support: Support) -> list[int]:
        pointer = made(1, support)
        step = pointer.step(pointer(states, sources, pointer.keys(sources)), sources)
        close(step.vocabulary.sum() + step.copied[0].sum(), 1.0)
        return torch.nonzero(step.vocabulary[0]).flatten().tolist()

    assert written(Support(6, [0])) == [1, 2, 3, 4, 5]
    assert written(Support(6, [0], torch.tensor([3, 1]))) == [1, 3]
    assert written(Support(6, [0], torch.tensor([3, 1]), input_words=True)) == [1, 2, 3, 5]
    assert written(Support(6, [0, 5], torch.tensor([3, 1]), input_words=True)) == [1, 2, 3]


def test_few_words_need_few_logits() -> None:
    pointer = made(1, Support(6, [0], torch.tensor([3, 1])))
    assert pointer.output.weight.shape == (2, 3)


@pytest.mark.parametrize("common", [None, torch.tensor([3, 1])])
def test_a_tied_output_uses_the_word_embeddings(common: torch.Tensor | None) -> None:
    one = source([[2, 5]])
    tied, free = (made(1, Support(6, [0], common), tied=tied) for tied in (True, False))
    table = torch.randn(6, 3)
    free.load_state_dict(tied.state_dict() | {"output.weight": table if common is None else table[[1, 3]]})
    states = torch.randn(1, 2, 4)
    close(tied(states, [one], tied.keys([one]), table).vocabulary, free(states, [one], free.keys([one])).vocabulary)


def test_refuses_a_vocabulary_of_nothing() -> None:
    with pytest.raises(SettingsError, match="no word is left"):
        Support(6, [0, 1], torch.tensor([1]))


# Loss


def test_the_loss_is_a_mean_over_known_tokens_then_over_answerable_examples() -> None:
    log_probability = log([[0.5, 0.25, 0.125], [0.1, 0.2, 1.0], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]])
    known = torch.tensor([[True, False, True], [True, True, True], [True, True, True], [False, False, False]])
    mask = torch.tensor([[True, True, True], [True, True, False], [True, True, True], [True, True, True]])
    answerable = torch.tensor([True, True, False, True])
    first = -(LOG(0.5) + LOG(0.125)) / 2  # one token is unknown
    second = -(LOG(0.1) + LOG(0.2)) / 2  # one is padding; the third example has no answer, the fourth nothing known
    close(generation_loss(log_probability, known, mask, answerable), (first + second) / 2)


def test_the_loss_of_nothing_is_zero() -> None:
    nothing = torch.zeros(2, 3, dtype=torch.bool)
    assert generation_loss(torch.full((2, 3), NEVER), nothing, nothing, torch.ones(2)).item() == 0


def test_an_impossible_token_leaves_gradients_finite() -> None:
    pointer = made(1, Support(6, [0], torch.tensor([1])))
    one = source([[2, 5]])
    mixture = pointer(torch.randn(1, 2, 4), [one], pointer.keys([one]))
    actual, known = pointer.target_log_probability(mixture, [one], torch.tensor([[3, 5]]))
    generation_loss(actual, known, torch.ones(1, 2, dtype=torch.bool), torch.ones(1)).backward()
    assert all(torch.isfinite(part.grad).all() for part in pointer.parameters() if part.grad is not None)


# Packing


def test_packing_drops_empty_places_and_remembers_where_tokens_stood() -> None:
    one = CopySource.plain(
        torch.arange(10.0).view(2, 5, 1),
        torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 1]]),
        torch.tensor([[True, False, True, False, True], [False, True, False, False, False]]),
    )
    fewer = one.packed()
    assert fewer.tokens[0].tolist() == [1, 3, 5]
    assert fewer.place[0].tolist() == [0, 2, 4]
    assert fewer.tokens[1, :1].tolist() == [7]
    assert fewer.mask.tolist() == [[True, True, True], [True, False, False]]
    assert fewer.states[0, :, 0].tolist() == [0.0, 2.0, 4.0]
