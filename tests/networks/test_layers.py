"""The layers that writing networks share, against numbers worked out by hand and against torch's own."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from torch import nn  # noqa: E402

from wherefrom.errors import WherefromError  # noqa: E402
from wherefrom.networks.layers import (  # noqa: E402
    CopyAttention,
    DualAttention,
    EncoderBlock,
    EncoderStack,
    Highway,
    KeyValue,
    Positions,
    RecurrentBlock,
    attended,
    attended_padded,
    mask_bias,
    masked_max,
    sinusoids,
    start,
)


def filled(module: nn.Module, seed: int = 1) -> nn.Module:
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module.eval()


def close(actual: torch.Tensor, expected: object) -> None:
    torch.testing.assert_close(actual, torch.as_tensor(expected), atol=1e-5, rtol=1e-5)


# Blocks


def test_a_block_is_torchs_own_post_norm_block() -> None:
    ours = filled(EncoderBlock(12, heads=3, inner=20, dropout=0.0, attention_dropout=0.0))
    theirs = nn.TransformerEncoderLayer(12, 3, 20, 0.0, "gelu", batch_first=True).eval()
    copied = {
        "self_attn.in_proj_weight": torch.cat([ours.attention.query.weight, ours.attention.key_value.weight]),
        "self_attn.in_proj_bias": torch.cat([ours.attention.query.bias, ours.attention.key_value.bias]),
        "self_attn.out_proj.weight": ours.attention.gather.weight,
        "self_attn.out_proj.bias": ours.attention.gather.bias,
        **{f"linear1.{part}": getattr(ours.feed.widen, part) for part in ("weight", "bias")},
        **{f"linear2.{part}": getattr(ours.feed.narrow, part) for part in ("weight", "bias")},
        **{f"norm1.{part}": getattr(ours.attention_norm, part) for part in ("weight", "bias")},
        **{f"norm2.{part}": getattr(ours.norm, part) for part in ("weight", "bias")},
    }
    theirs.load_state_dict(copied)
    states = torch.randn(2, 5, 12)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    close(ours(states, mask)[mask], theirs(states, src_key_padding_mask=~mask)[mask])


@pytest.mark.parametrize("core", ["transformer", "rnn"])
def test_padding_changes_nothing_in_a_stack(core: str) -> None:
    stack = filled(EncoderStack(7, 8, 2, 2, 10, 0.0, 0.0, core))  # type: ignore[arg-type]
    states = torch.randn(2, 5, 7)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    expected = stack(states[1:, :3], mask[1:, :3])
    close(stack(states, mask)[1:, :3], expected)
    longer = nn.functional.pad(states, (0, 0, 0, 4), value=9.0)
    close(stack(longer, nn.functional.pad(mask, (0, 4)))[1:, :3], expected)


def test_a_recurrent_block_bears_an_empty_sequence() -> None:
    block = filled(RecurrentBlock(4, 2, 0.0, 0.0))
    assert torch.isfinite(block(torch.randn(2, 3, 4), torch.zeros(2, 3, dtype=torch.bool))).all()


# Highway


def test_highway_by_hand() -> None:
    """W = 2, gate 1/2: x becomes (ReLU(2x) + x) / 2, twice."""
    highway = Highway(1)
    with torch.no_grad():
        for both in highway.maps:
            both.weight.copy_(torch.tensor([[2.0], [0.0]]))
            both.bias.zero_()
    close(highway(torch.tensor([[3.0], [-2.0]])), [[6.75], [-0.5]])  # 3 -> 4.5 -> 6.75; -2 -> -1 -> -0.5


# Dual attention


def test_heads_filled_up_with_zeros_see_the_same() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 4, 37), torch.randn(2, 3, 6, 37), torch.randn(2, 3, 6, 37)
    bias = mask_bias(torch.tensor([[True] * 6, [True] * 4 + [False] * 2]), torch.float32)
    plain = attended(query, KeyValue(key, value), bias, 0.0)
    padded = attended_padded(query, KeyValue(key, value), bias, 0.0)
    assert padded.shape == plain.shape
    torch.testing.assert_close(padded, plain)


def test_dual_attention_by_hand() -> None:
    """Width 1, U_lj = log(3) P_l Q_j. Passage 1 is (0, 1), passage 2 is (1) and padding; the question is (0, 1).

    Passage 1: U = [[0, 0], [0, log 3]], so A = B = [[1/2, 1/2], [1/4, 3/4]], A-bar = B-bar = (1/2, 3/4) and
    A B-bar = B A-bar = (5/8, 11/16). Passage 2: A = [[1/4, 3/4]], B = [[1], [1]], A-bar = 3/4, B-bar = (1, 1),
    A B-bar = 1, B A-bar = (3/4, 3/4). The question takes the greater of each.
    """
    dual = DualAttention(1)
    with torch.no_grad():
        dual.weight.copy_(torch.tensor([0.0, 0.0, math.log(3)]))
    passages = torch.tensor([[[[0.0], [1.0]], [[1.0], [7.0]]]])
    mask = torch.tensor([[[True, True], [True, False]]])
    question = torch.tensor([[[0.0], [1.0]]])
    to_passage, to_question = dual(passages, mask, question, torch.ones(1, 2, dtype=torch.bool))
    close(to_passage[0, 0], [[0, 0.5, 0.625, 0, 0], [1, 0.75, 0.6875, 0.75, 0.6875]])
    close(to_passage[0, 1, 0], [1, 0.75, 1, 0.75, 1])
    close(to_question[0], [[0, 1, 0.75, 0, 0], [1, 1, 0.75, 1, 0.75]])


def test_dual_attention_weighs_passage_question_and_product() -> None:
    dual = filled(DualAttention(3))
    passages, question = torch.randn(1, 2, 4, 3), torch.randn(1, 5, 3)
    everything = torch.ones(1, 2, 4, dtype=torch.bool), torch.ones(1, 5, dtype=torch.bool)
    actual = dual.attend(passages, everything[0], question, everything[1])
    for k in range(2):
        alike = torch.tensor(
            [[float(torch.cat([p, q, p * q]) @ dual.weight.detach()) for q in question[0]] for p in passages[0, k]]
        )
        look, back = alike.softmax(dim=1), alike.T.softmax(dim=1)
        close(actual.to_passage[0, k], look @ question[0])
        close(actual.to_question[0, k], back @ passages[0, k])
        close(actual.to_passage_twice[0, k], look @ (back @ passages[0, k]))
        close(actual.to_question_twice[0, k], back @ (look @ question[0]))


def test_padding_changes_nothing_in_dual_attention() -> None:
    dual = filled(DualAttention(3))
    passages, question = torch.randn(1, 2, 4, 3), torch.randn(1, 5, 3)
    mask, asked = torch.ones(1, 2, 4, dtype=torch.bool), torch.ones(1, 5, dtype=torch.bool)
    mask[0, 1, 2:] = False
    to_passage, to_question = dual(passages, mask, question, asked)
    wider = nn.functional.pad(passages, (0, 0, 0, 3, 0, 2), value=5.0)  # longer passages, and two more of them
    wider_mask = nn.functional.pad(mask, (0, 3, 0, 2))
    again, asked_again = dual(
        wider, wider_mask, nn.functional.pad(question, (0, 0, 0, 2), value=-4.0), nn.functional.pad(asked, (0, 2))
    )
    close(again[:, :2, :4][mask], to_passage[mask])
    close(asked_again[:, :5], to_question)


def test_an_empty_sequence_teaches_nothing() -> None:
    dual = filled(DualAttention(3))
    nothing = torch.zeros(1, 1, 4, dtype=torch.bool)
    _, to_question = dual(torch.randn(1, 1, 4, 3), nothing, torch.ones(1, 2, 3), torch.ones(1, 2, dtype=torch.bool))
    close(to_question[0, :, 3:], torch.zeros(2, 12))


def test_the_greatest_over_nothing_is_zero() -> None:
    values = torch.tensor([[[-3.0], [-1.0]], [[5.0], [6.0]]])
    mask = torch.tensor([[[True], [True]], [[False], [False]]])
    close(masked_max(values, mask, dim=1), [[-1.0], [0.0]])


# Copying


def test_additive_attention_by_hand() -> None:
    """e_i = 2 tanh(M_i + 3 s + 1), with s = 1/2."""
    attention = CopyAttention(1, "additive")
    with torch.no_grad():
        attention.of_memory.weight.fill_(1.0)
        attention.of_state.weight.fill_(3.0)
        attention.of_state.bias.fill_(1.0)
        attention.score.weight.fill_(2.0)
    memory = torch.tensor([[[-2.0], [0.25]]])
    actual = attention(torch.tensor([[[0.5]]]), attention.keys(memory))
    close(actual, [[[2 * math.tanh(0.5), 2 * math.tanh(2.75)]]])


def test_dot_attention_by_hand() -> None:
    """e_i = M_i . s / sqrt(4)."""
    attention = CopyAttention(4, "dot")
    with torch.no_grad():
        attention.of_memory.weight.copy_(torch.eye(4))
        attention.of_state.weight.copy_(torch.eye(4))
        attention.of_state.bias.zero_()
    memory = torch.tensor([[[1.0, 0, 0, 0], [1.0, 1, 1, 1]]])
    actual = attention(torch.tensor([[[2.0, 4, 6, 8]]]), attention.keys(memory))
    close(actual, [[[1.0, 10.0]]])


def test_additive_attention_in_turns_is_the_same() -> None:
    attention = filled(CopyAttention(6, "additive"))
    states, memory = torch.randn(2, 7, 6, requires_grad=True), torch.randn(2, 5, 6)
    whole = attention(states, attention.keys(memory))
    (gradient,) = torch.autograd.grad(whole.square().sum(), states)
    attention.at_once = 2 * 5 * 6 * 3  # three steps at a time
    in_turns = attention(states, attention.keys(memory))
    close(in_turns, whole)
    close(torch.autograd.grad(in_turns.square().sum(), states)[0], gradient)


# Positions and first weights


def test_sinusoids_by_hand() -> None:
    actual = sinusoids(torch.tensor([0, 1, 3]), 4)
    rows = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in (0, 1, 3)]
    close(actual, rows)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "none"])
def test_positions_can_begin_later(kind: str) -> None:
    positions = Positions(kind, 6, 10)  # type: ignore[arg-type]
    words = torch.randn(2, 5, 6)
    close(positions(words[:, 3:], first=3), positions(words)[:, 3:])
    assert torch.equal(positions(words), words) == (kind == "none")


def test_refuses_more_tokens_than_learned_positions() -> None:
    with pytest.raises(WherefromError, match="11 tokens are too many; the network has 10 positions"):
        Positions("learned", 6, 10)(torch.zeros(1, 1, 6), first=10)


def test_first_weights_normal() -> None:
    torch.manual_seed(0)
    linear, table, dual = nn.Linear(200, 200), nn.Embedding(200, 200), DualAttention(2000)
    for module in (linear, table, dual):
        start(module, "normal")
        assert module.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert not linear.bias.any()


def test_first_weights_uniform() -> None:
    torch.manual_seed(0)
    linear, norm, lstm = nn.Linear(400, 300), nn.LayerNorm(7), nn.LSTM(25, 25)
    for module in (linear, norm, lstm):
        start(module, "uniform")
    for values, bound in ((linear.weight, 1 / 20), (linear.bias, 1 / 20), (lstm.weight_hh_l0, 1 / 5)):
        assert values.abs().max().item() <= bound
        assert values.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
    assert torch.equal(norm.weight, torch.ones(7))
    assert not norm.bias.any()
