"""Our writer: question states, the short answer as a source, saved settings; the rest is tested beside Masque's."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from networks.writer_examples import PRETRAINED, WORDS, WRITER, examples, lively, network, reading, shapes  # noqa: E402
from wherefrom.errors import SettingsError, WherefromError  # noqa: E402
from wherefrom.systems.writer.network import SOURCES, WriterNetwork, WriterNetworkSettings, question_states  # noqa: E402
from wherefrom.systems.writer.settings import WriterSettings  # noqa: E402


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=2e-5, rtol=2e-4)


def test_the_question_is_read_beside_every_passage() -> None:
    """States 1, 2 and 9 (padding) of a question token, weights 1/4 and 3/4: 1.75."""
    states = torch.tensor([[[[0.0], [1.0]], [[0.0], [2.0]], [[0.0], [9.0]]]])
    log_beta = torch.tensor([[0.2, 0.6, 0.9]]).log()
    close(question_states(states, 1, log_beta, torch.tensor([[True, True, False]])), torch.tensor([[[1.75]]]))


def test_the_short_answer_can_be_copied() -> None:
    memory = lively(WRITER).encode(reading(examples(), WRITER))
    source = memory.sources[SOURCES.index("answer")]
    assert source.tokens[0][source.mask[0]].tolist() == examples()[0].short


def test_another_answer_changes_its_source_alone() -> None:
    made = lively(WRITER)
    batch, other = reading(examples(), WRITER), reading(examples()[::-1], WRITER)
    memory = made.encode(batch)
    changed = made.with_answer(memory, other.answer)
    expected = made.encode(batch._replace(answer=other.answer))
    for mine, theirs in zip(changed.sources, expected.sources, strict=True):
        close(mine.states, theirs.states)
    assert changed.sources[0] is memory.sources[0]
    assert changed.sources[2] is memory.sources[2]


def test_an_answer_is_needed_if_only_an_empty_one() -> None:
    with pytest.raises(WherefromError, match="reads a short answer"):
        network(WRITER).encode(reading(examples(), WRITER)._replace(answer=None))


def test_saved_weights_still_fit() -> None:
    """Names and shapes as they were when it was one of Masque's settings."""
    made = WriterNetwork(WriterSettings().network, torch.arange(1000, 8000))
    assert shapes(made) == json.loads((Path(__file__).parent / "state_shapes.json").read_text())
    assert 37e6 < sum(part.numel() for part in made.parameters()) < 40e6


def test_saved_settings_can_be_read() -> None:
    assert WriterNetworkSettings.from_mapping(json.loads(json.dumps(asdict(WRITER)))) == WRITER
    older = {**asdict(WRITER), "encoder": "joint", "answer_source": True, "ranker": "point", "width": 16}
    assert WriterNetworkSettings.from_mapping(older) == WRITER
    with pytest.raises(SettingsError, match="another network"):
        WriterNetworkSettings.from_mapping({**older, "encoder": "separate"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 5}, "width 16 does not divide into heads 5"),
        ({"decoder_layers": 0}, "decoder_layers is 0"),
        ({"vocabulary": 0}, "vocabulary is 0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"positive_label": 0.0}, "positive_label is 0.0"),
        ({"pretrained": replace(PRETRAINED, words=50)}, "pretrained has 50 words, the network 40"),
    ],
)
def test_refuses_settings_that_do_not_go_together(change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        replace(WRITER, **change)


def test_it_needs_the_words_that_it_may_write() -> None:
    with pytest.raises(SettingsError, match="vocabulary is 34: the network needs that many token ids"):
        WriterNetwork(WRITER, torch.arange(6, 20))
    assert WORDS.end in network(replace(WRITER, vocabulary=3)).pointer.support.listed
