"""The encoder: what padding may not change, MPNet's buckets by hand, and weights that do not fit."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors.torch import save_file  # noqa: E402

from wherefrom.errors import SettingsError, WherefromError  # noqa: E402
from wherefrom.networks.encoder import Encoder, EncoderSettings, load_pretrained, published_names, relative_bucket  # noqa: E402

BERT = EncoderSettings("bert", words=50, width=12, layers=3, heads=3, inner=20, positions=40, types=2)
MPNET = EncoderSettings(
    "mpnet", words=50, width=12, layers=3, heads=3, inner=20, positions=42, first_position=2, buckets=32, padding=1
)
BOTH = pytest.mark.parametrize("settings", [BERT, MPNET], ids=["bert", "mpnet"])

CONFIG = {
    "bert": {
        "model_type": "bert",
        "vocab_size": 30522,
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "type_vocab_size": 2,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
        "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.2,
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
    },
    "mpnet": {
        "model_type": "mpnet",
        "vocab_size": 30527,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "pad_token_id": 1,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "max_position_embeddings": 514,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "relative_attention_num_buckets": 32,
    },
}


def lively(settings: EncoderSettings) -> Encoder:
    """An encoder whose weights are large enough for every part of it to show in the output."""
    torch.manual_seed(7)
    encoder = Encoder(settings).eval()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.normal_(std=0.5)
    return encoder


def sequences(settings: EncoderSettings, *lengths: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random tokens of these lengths, padded on the right, and their mask."""
    generator = torch.Generator().manual_seed(len(lengths))
    tokens = torch.randint(2, settings.words, (len(lengths), max(lengths)), generator=generator)
    mask = torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]
    return tokens.masked_fill(~mask, settings.padding), mask


# Reading


@BOTH
def test_gives_one_vector_a_token(settings: EncoderSettings) -> None:
    tokens, mask = sequences(settings, 9, 4)
    assert Encoder(settings)(tokens, mask).shape == (2, 9, 12)


@BOTH
def test_padding_never_changes_the_vectors_of_real_tokens(settings: EncoderSettings) -> None:
    encoder = lively(settings)
    tokens, mask = sequences(settings, 9, 4)
    others = tokens.masked_fill(~mask, 33)  # what stands at padded places
    longer = torch.nn.functional.pad(tokens, (0, 5), value=settings.padding)  # how many there are
    longer_mask = torch.nn.functional.pad(mask, (0, 5), value=False)
    expected = encoder(tokens, mask)[mask]
    torch.testing.assert_close(encoder(others, mask)[mask], expected)
    torch.testing.assert_close(encoder(longer, longer_mask)[longer_mask], expected)


@BOTH
def test_a_batch_equals_one_by_one(settings: EncoderSettings) -> None:
    encoder = lively(settings)
    tokens, mask = sequences(settings, 9, 4, 1)
    together = encoder(tokens, mask)
    for row, length in enumerate((9, 4, 1)):
        alone = encoder(tokens[row : row + 1, :length], mask[row : row + 1, :length])
        torch.testing.assert_close(together[row, :length], alone[0])


@BOTH
def test_a_sequence_of_padding_alone_stays_finite(settings: EncoderSettings) -> None:
    tokens, mask = sequences(settings, 6, 3)
    mask[1] = False
    hidden = lively(settings)(tokens, mask)
    hidden.sum().backward()
    assert torch.isfinite(hidden).all()


@BOTH
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_close(settings: EncoderSettings, dtype: torch.dtype) -> None:
    encoder = lively(settings)
    tokens, mask = sequences(settings, 9, 4)
    expected = encoder(tokens, mask)[mask]
    with torch.autocast("cpu", dtype=dtype):
        mixed = encoder(tokens, mask)[mask]
    half = encoder.to(dtype)(tokens, mask)[mask]
    for found in (mixed, half):
        assert (found.float() - expected).abs().max() < 0.05 * expected.abs().max()


def test_attention_is_the_softmax_worked_out_by_hand() -> None:
    """One head, written as the formula says, without the fused kernel."""
    settings = replace(MPNET, layers=1, heads=1)
    encoder = lively(settings)
    tokens, mask = sequences(settings, 5)
    layer = encoder.layers[0]
    hidden = encoder.embed(tokens, None)
    query, key, value = (hidden @ layer.query_key_value.weight.T + layer.query_key_value.bias).chunk(3, dim=-1)
    logits = query @ key.transpose(1, 2) / 12**0.5
    for at in range(5):
        for seen in range(5):
            logits[0, at, seen] += encoder.distance.weight[relative_bucket(seen - at, 32), 0]
    attended = logits.softmax(dim=-1) @ value
    torch.testing.assert_close(layer.attend(hidden, encoder.attention_bias(mask, torch.float32)), attended)


def test_token_types_tell_question_from_passage() -> None:
    encoder = lively(BERT)
    tokens, mask = sequences(BERT, 6)
    types = torch.tensor([[0, 0, 0, 1, 1, 1]])
    untyped = encoder(tokens, mask)
    torch.testing.assert_close(encoder(tokens, mask, torch.zeros_like(types)), untyped)
    assert not torch.allclose(encoder(tokens, mask, types), untyped)


def test_mpnet_counts_positions_from_two() -> None:
    encoder = lively(MPNET)
    tokens, mask = sequences(MPNET, 5)
    before = encoder(tokens, mask)
    with torch.no_grad():
        encoder.position.weight[:2] += 1
        encoder.position.weight[7:] += 1
    torch.testing.assert_close(encoder(tokens, mask), before)


@BOTH
def test_refuses_a_sequence_longer_than_its_positions(settings: EncoderSettings) -> None:
    tokens, mask = sequences(settings, 40)
    Encoder(settings)(tokens, mask)
    tokens, mask = sequences(settings, 41)
    with pytest.raises(WherefromError, match="41 tokens is too long; the encoder takes 40"):
        Encoder(settings)(tokens, mask)


# MPNet's buckets


@pytest.mark.parametrize(
    ("offset", "bucket"),
    [
        (0, 0),
        (-1, 1),
        (-7, 7),  # one distance each below 8
        (1, 17),
        (7, 23),  # keys after the query: 16 more
        # then 8 + floor(8 log(d / 8) / log 16): a new bucket at 8 * 16^(k / 8) = 8, 11.3, 16, 22.6, 32, 45.3, 64, 90.5
        (-8, 8),
        (-11, 8),
        (-12, 9),
        (-15, 9),
        (-16, 10),
        (-22, 10),
        (-23, 11),
        (-31, 11),
        (-32, 12),
        (-45, 12),
        (-46, 13),
        (-63, 13),
        (-64, 14),
        (-90, 14),
        (-91, 15),
        (-128, 15),
        (-500, 15),
        (16, 26),
        (91, 31),
        (500, 31),
    ],
)
def test_buckets_of_relative_position(offset: int, bucket: int) -> None:
    assert relative_bucket(offset, buckets=32) == bucket


# Fewer layers


@BOTH
def test_keeping_layers_leaves_out_the_others(settings: EncoderSettings) -> None:
    encoder = lively(settings)
    tokens, mask = sequences(settings, 6, 2)
    kept = encoder.keeping([0, 2])
    assert kept.settings == replace(settings, layers=2)
    hidden = encoder.embed(tokens, None)
    bias = encoder.attention_bias(mask, torch.float32)
    expected = encoder.layers[2](encoder.layers[0](hidden, bias), bias)
    torch.testing.assert_close(kept(tokens, mask), expected)


def test_a_kept_layer_is_a_copy() -> None:
    encoder = lively(BERT)
    before = encoder.layers[1].gather.weight.clone()
    with torch.no_grad():
        encoder.keeping([1]).layers[0].gather.weight.zero_()
    assert torch.equal(encoder.layers[1].gather.weight, before)


def test_refuses_to_keep_a_layer_it_does_not_have() -> None:
    with pytest.raises(SettingsError, match="layer 3; this encoder has layers 0 to 2"):
        Encoder(BERT).keeping([0, 3])


# Published weights


def published(encoder: Encoder) -> dict[str, torch.Tensor]:
    """The encoder's weights under Hugging Face's names, with the tensors such files hold beside them."""
    state = encoder.state_dict()
    tensors = {
        name: piece.clone()
        for ours, names in published_names(encoder.settings).items()
        for name, piece in zip(names, state[ours].chunk(len(names)), strict=True)
    }
    tensors["embeddings.position_ids"] = torch.arange(encoder.settings.positions)[None]
    tensors["pooler.dense.weight"] = torch.zeros(12, 12)
    return tensors


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_loads_published_weights(settings: EncoderSettings, dtype: torch.dtype, tmp_path: Path) -> None:
    source = lively(settings).to(dtype).float()  # numbers that float16 holds exactly
    tensors = {name: tensor.to(dtype) for name, tensor in published(source).items() if "position_ids" not in name}
    save_file(tensors, tmp_path / "model.safetensors")
    loaded = Encoder(settings).eval()
    load_pretrained(loaded, tmp_path / "model.safetensors")
    tokens, mask = sequences(settings, 6, 2)
    assert loaded.word.weight.dtype == torch.float32
    torch.testing.assert_close(loaded(tokens, mask), source(tokens, mask))


def test_names_the_tensors_that_are_missing(tmp_path: Path) -> None:
    tensors = published(Encoder(BERT))
    del tensors["encoder.layer.1.attention.self.key.bias"]
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(WherefromError, match=r"lacks encoder\.layer\.1\.attention\.self\.key\.bias$"):
        load_pretrained(Encoder(BERT), tmp_path / "model.safetensors")


def test_names_the_tensors_it_has_no_place_for(tmp_path: Path) -> None:
    save_file(published(Encoder(BERT)), tmp_path / "model.safetensors")
    with pytest.raises(WherefromError, match=r"no place for: encoder\.layer\.2.* and 8 more$"):
        load_pretrained(Encoder(replace(BERT, layers=2)), tmp_path / "model.safetensors")


def test_names_the_tensors_of_another_size(tmp_path: Path) -> None:
    save_file(published(Encoder(BERT)), tmp_path / "model.safetensors")
    with pytest.raises(WherefromError, match=r"word_embeddings\.weight \(50, 12\) instead of \(60, 12\)"):
        load_pretrained(Encoder(replace(BERT, words=60)), tmp_path / "model.safetensors")


def test_says_that_a_file_is_not_safetensors(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("no weights here")
    for path in (tmp_path / "model.safetensors", tmp_path / "absent.safetensors"):
        with pytest.raises(WherefromError, match="cannot be read as safetensors"):
            load_pretrained(Encoder(BERT), path)


# Settings


def test_reads_the_settings_of_minilm(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG["bert"]))
    assert EncoderSettings.from_config(tmp_path / "config.json") == EncoderSettings(
        "bert",
        words=30522,
        width=384,
        layers=6,
        heads=12,
        inner=1536,
        positions=512,
        first_position=0,
        types=2,
        buckets=0,
        padding=0,
        norm_epsilon=1e-12,
        dropout=0.1,
        attention_dropout=0.2,
    )


def test_reads_the_settings_of_mpnet(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG["mpnet"]))
    settings = EncoderSettings.from_config(tmp_path / "config.json")
    assert (settings.first_position, settings.types, settings.buckets, settings.padding) == (2, 0, 32, 1)
    assert settings.max_tokens == 512


def test_settings_survive_being_written_down() -> None:
    assert EncoderSettings(**json.loads(json.dumps(asdict(MPNET)))) == MPNET


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "t5"}, "type 't5'; only 'bert' and 'mpnet'"),
        ({"hidden_size": None}, "hidden_size must be a whole number, not None"),
        ({"layer_norm_eps": "small"}, "layer_norm_eps must be a number"),
        ({"hidden_act": "relu"}, "hidden_act is 'relu'; this encoder knows only 'gelu'"),
        ({"hidden_size": 100}, "encoder.width 100 does not divide into encoder.heads 12"),
        ({"num_hidden_layers": 0}, "encoder.layers is 0"),
    ],
)
def test_refuses_a_configuration_it_cannot_follow(change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        EncoderSettings.from_mapping(CONFIG["bert"] | change)


def test_says_that_a_configuration_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot be read as an encoder's config\.json"):
        EncoderSettings.from_config(tmp_path / "config.json")
