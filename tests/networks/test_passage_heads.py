"""Rankers, classifiers and their losses, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from wherefrom.errors import WherefromError  # noqa: E402
from wherefrom.networks.encoder import NEVER  # noqa: E402
from wherefrom.networks.layers import EncoderBlock  # noqa: E402
from wherefrom.networks.passage_heads import (  # noqa: E402
    LinearClassifier,
    MaxClassifier,
    PairRanker,
    PointRanker,
    all_alike,
    classification_loss,
    from_labels,
    from_logits,
    pair_loss,
    pair_weight,
    point_loss,
)

LOG = math.log


def close(actual: torch.Tensor, expected: object) -> None:
    torch.testing.assert_close(actual, torch.as_tensor(expected), atol=1e-5, rtol=1e-5)


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


# Rankers


def test_the_point_ranker_by_hand() -> None:
    ranker = PointRanker(2)
    with torch.no_grad():
        ranker.weight.weight.copy_(torch.tensor([[1.0, -2.0]]))
    first = torch.tensor([[[3.0, 1.0], [0.0, 1.0], [9.0, 9.0]]])
    ranking = ranker(first, torch.tensor([[True, True, False]]))
    close(ranking.score, [[1.0, -2.0, NEVER]])
    close(ranking.log_beta[:, :2].exp(), [[sigmoid(1), sigmoid(-2)]])


def test_the_pair_ranker_by_hand() -> None:
    """Width 1, no block across. W picks m = [k, i, |k - i|, k i]: r_more = k, r_equal = |k - i|, r_less = i.

    Passages 2 and 1: r_more - r_equal - r_less is 2-0-2, 2-1-1 = 0, 0 for k = 1, and 1-1-2 = -2, 1-0-1 = 0 for k = 2;
    b = (0, -1).
    """
    ranker = PairRanker(1, None, mirror=False)
    with torch.no_grad():
        ranker.weight.weight.copy_(torch.tensor([[1.0, 0, 0, 0], [0, 0, 1.0, 0], [0, 1.0, 0, 0]]))
    real = torch.tensor([[True, True, False]])
    ranking = ranker(torch.tensor([[[2.0], [1.0], [50.0]]]), real)
    close(ranking.score[:, :2], [[0.0, -1.0]])
    close(ranking.log_beta.exp(), [[1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1)), 0.0]])
    close(ranking.pairs[0, 0, 1], [2.0, 1.0, 1.0])


def test_the_mirror_reads_the_upper_half_off_the_lower() -> None:
    torch.manual_seed(0)
    first, real = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    plain, mirrored = PairRanker(4, None, mirror=False), PairRanker(4, None, mirror=True)
    mirrored.load_state_dict(plain.state_dict())
    whole, half = plain(first, real).pairs, mirrored(first, real).pairs
    for k in range(3):
        for i in range(3):
            close(half[0, k, i], whole[0, k, i] if i <= k else whole[0, i, k].flip(0))


@pytest.mark.parametrize("p2p", [True, False])
def test_padded_passages_change_nothing_in_the_pair_ranker(p2p: bool) -> None:
    torch.manual_seed(0)
    across = EncoderBlock(4, 2, 8, 0.0, 0.0) if p2p else None
    ranker = PairRanker(4, across, mirror=False).eval()
    first = torch.randn(1, 5, 4)
    real = torch.tensor([[True, True, False, False, False]])
    close(ranker(first, real).log_beta[:, :2], ranker(first[:, :2], real[:, :2]).log_beta)


def test_the_block_across_lets_passages_see_each_other() -> None:
    torch.manual_seed(0)
    first, real = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    other = first.clone()
    other[0, 2] += 1
    for p2p in (True, False):
        ranker = PairRanker(4, EncoderBlock(4, 2, 8, 0.0, 0.0) if p2p else None, mirror=False)
        changed = (ranker(first, real).pairs - ranker(other, real).pairs)[0, 0, 1].abs().max()
        assert (changed > 1e-4) == p2p


def test_labels_as_weights_shut_out_the_others() -> None:
    real = torch.tensor([[True, True, True], [True, True, False]])
    ranking = from_labels(torch.tensor([[0, 1, 1], [0, 0, 0]]), real)
    close(ranking.log_beta.exp(), [[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])  # where none is relevant, none is shut out


def test_given_logits_and_no_ranker() -> None:
    real = torch.tensor([[True, True]])
    close(from_logits(torch.tensor([[0.0, 2.0]]), real).log_beta.exp(), [[0.5, sigmoid(2)]])
    close(all_alike(real).log_beta.exp(), [[1.0, 1.0]])


# Classifiers


def test_the_linear_classifier_by_hand() -> None:
    classifier = LinearClassifier(2, passages=3)
    with torch.no_grad():
        classifier.weight.weight.copy_(torch.tensor([[1.0, 2, 3, 4, 5, 6]]))
    first = torch.tensor([[[1.0, 1.0], [2.0, 0.0]]])
    close(classifier(first, torch.tensor([[True, True]])), [1.0 + 2 + 6])
    close(classifier(first, torch.tensor([[True, False]])), [3.0])
    with pytest.raises(WherefromError, match="4 passages are too many; the linear classifier takes 3"):
        classifier(torch.ones(1, 4, 2), torch.ones(1, 4, dtype=torch.bool))


def test_in_training_few_passages_take_any_place() -> None:
    """Else the weights of the places that training leaves empty would stay as they began."""
    torch.manual_seed(0)
    first, real = torch.randn(64, 2, 4), torch.ones(64, 2, dtype=torch.bool)
    taught = {}
    for any_place in (False, True):
        classifier = LinearClassifier(4, 6, any_place)
        classifier(first, real).sum().backward()
        gradient = classifier.weight.weight.grad
        assert gradient is not None
        taught[any_place] = gradient.view(6, 4).ne(0).any(dim=1).tolist()
    assert taught == {False: [True, True, False, False, False, False], True: [True] * 6}
    assert torch.equal(classifier.eval()(first, real), classifier(first, real)), "its judgement is left to chance"


def test_the_max_classifier_by_hand() -> None:
    classifier = MaxClassifier(2)
    with torch.no_grad():
        classifier.weight.weight.copy_(torch.tensor([[1.0, 10.0]]))
    first = torch.tensor([[[1.0, -4.0], [-2.0, -3.0], [100.0, 100.0]]])
    close(classifier(first, torch.tensor([[True, True, False]])), [1.0 - 30])


def test_order_matters_to_the_linear_classifier_alone() -> None:
    torch.manual_seed(0)
    first, real = torch.randn(1, 4, 6), torch.ones(1, 4, dtype=torch.bool)
    shuffled = first[:, [2, 0, 3, 1]]
    free, bound = MaxClassifier(6), LinearClassifier(6, 4)
    close(free(shuffled, real), free(first, real))
    assert not torch.allclose(bound(shuffled, real), bound(first, real))


# Losses


def test_the_point_loss_by_hand() -> None:
    logits = torch.tensor([[LOG(3.0), 0.0, NEVER], [0.0, NEVER, NEVER]])  # beta = 3/4, 1/2; 1/2
    relevant = torch.tensor([[1, 0, 0], [0, 0, 0]])
    real = torch.tensor([[True, True, False], [True, False, False]])
    first = -(0.9 * LOG(0.75) + 0.1 * LOG(0.25) + LOG(0.5)) / 2
    close(point_loss(logits, relevant, real, positive=0.9), (first - LOG(0.5)) / 2)


def test_the_pair_loss_by_hand() -> None:
    """Two passages, the second relevant: (1,1) equal, (2,1) more, (2,2) equal; (1,2) does not count."""
    pairs = torch.tensor([[[[1.0, 2, 1], [9.0, 9, 9]], [[6.0, 2, 2], [1.0, 1, 2]]]]).log()
    real = torch.ones(1, 2, dtype=torch.bool)
    expected = -(LOG(0.5) + LOG(0.6) + LOG(0.25)) / 3
    close(pair_loss(pairs, torch.tensor([[0, 1]]), real), expected)
    less = -(LOG(0.5) + LOG(0.2) + LOG(0.25)) / 3  # now the first is relevant, so (2,1) is less
    close(pair_loss(pairs, torch.tensor([[1, 0]]), real), less)


def test_padded_passages_do_not_count_in_the_losses() -> None:
    torch.manual_seed(0)
    pairs, relevant = torch.randn(1, 4, 4, 3), torch.tensor([[0, 1, 0, 0]])
    real = torch.tensor([[True, True, False, False]])
    close(pair_loss(pairs, relevant, real), pair_loss(pairs[:, :2, :2], relevant[:, :2], real[:, :2]))
    logits = torch.randn(1, 4)
    close(point_loss(logits, relevant, real), point_loss(logits[:, :2], relevant[:, :2], real[:, :2]))


def test_the_classification_loss_by_hand() -> None:
    actual = classification_loss(torch.tensor([LOG(3.0), 0.0]), torch.tensor([True, False]), positive=0.9)
    close(actual, -(0.9 * LOG(0.75) + 0.1 * LOG(0.25) + LOG(0.5)) / 2)


def test_the_weight_of_the_pair_loss() -> None:
    """With 6.6 % relevant passages the entropies are .2432 and .4589, and 0.5 becomes 0.265 (PREAST-QA Table C.1)."""
    assert pair_weight(0.5, 0.066) == pytest.approx(0.265, abs=5e-4)
    assert pair_weight(1.0, 0.066) == pytest.approx(0.53, abs=5e-4)
