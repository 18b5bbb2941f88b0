"""Style transfer: fusion by hand, padding, cached writing, starting from a Masque, and both directions learnt."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from networks.writer_examples import PREAST, WORDS, Example, examples, learn, lively, padded  # noqa: E402
from wherefrom.errors import SettingsError  # noqa: E402
from wherefrom.networks.decoding import DecodingSettings, write  # noqa: E402
from wherefrom.networks.pointer import dense  # noqa: E402
from wherefrom.networks.writer import shifted  # noqa: E402
from wherefrom.systems.masque.style_transfer import (  # noqa: E402
    Fusion,
    StyleTransferNetwork,
    StyleTransferSettings,
    Triple,
    start_from,
)

SMALL = StyleTransferSettings(
    words=WORDS,
    embedding=12,
    shared_layers=1,
    passage_layers=(1, 1),
    question_layers=(1, 0),
    answer_layers=(1, 1),
    decoder_layers=2,
    width=16,
    heads=2,
    inner=24,
    attention_dropout=0.0,
    dual_dropout=0.0,
    embedding_dropout=0.0,
)
BOTH = pytest.mark.parametrize("fusions", [1, 2])
SHORT, SENTENCE = 1, 2


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=2e-5, rtol=2e-4)


def network(settings: StyleTransferSettings) -> StyleTransferNetwork:
    torch.manual_seed(0)
    return StyleTransferNetwork(settings, torch.arange(39, 5, -1) if settings.vocabulary else None)


def sentence(example: Example) -> list[int]:
    return [example.question[0], *example.short, 30]


def triple(
    given: list[Example], back: list[bool], more: int = 0
) -> tuple[Triple, torch.Tensor, torch.Tensor, torch.Tensor]:
    """What is read, and the target with its mask and style; `back` is from sentence to short."""
    read = [sentence(one) if turn else one.short for one, turn in zip(given, back, strict=True)]
    wanted = [[*(one.short if turn else sentence(one)), WORDS.end] for one, turn in zip(given, back, strict=True)]
    columns = [[one.question for one in given], read, [one.passages[0] for one in given]]
    parts = [part for rows in columns for part in padded(rows, max(map(len, rows)) + more)]
    style = torch.tensor([SHORT if turn else SENTENCE for turn in back])
    return Triple(*parts), *padded(wanted), style


# Fusion


def test_each_sequence_hears_from_the_two_others() -> None:
    torch.manual_seed(0)
    fusion = Fusion(3, 0.0)
    states = {"question": torch.randn(1, 2, 3), "answer": torch.randn(1, 4, 3), "passage": torch.randn(1, 5, 3)}
    masks = {name: torch.ones(1, part.shape[1], dtype=torch.bool) for name, part in states.items()}
    fused = fusion(states, masks)
    assert {name: tuple(part.shape) for name, part in fused.items()} == {
        "question": (1, 2, 27),
        "answer": (1, 4, 27),
        "passage": (1, 5, 27),
    }

    def looks(one: str, other: str, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        p, q = states[one][0], states[other][0]
        alike = torch.stack([torch.stack([torch.cat([a, b, a * b]) @ weight for b in q]) for a in p])
        look, back = alike.softmax(dim=1), alike.T.softmax(dim=1)
        once, twice = look @ q, look @ (back @ p)
        return torch.cat([once, twice, once * p, twice * p], dim=-1), back @ p

    from_question, _ = looks("passage", "question", fusion.passage_question.weight)
    from_answer, _ = looks("passage", "answer", fusion.passage_answer.weight)
    close(fused["passage"][0], torch.cat([states["passage"][0], from_question, from_answer], dim=-1))
    of_answer, told_answer = looks("question", "answer", fusion.question_answer.weight)
    _, told_question = looks("passage", "question", fusion.passage_question.weight)
    close(fused["question"][0, :, 3:6], told_question)
    close(fused["question"][0, :, 15:], of_answer)
    close(fused["answer"][0, :, 15:18], told_answer)


# The network


@BOTH
def test_padding_changes_nothing(fusions: int) -> None:
    made = network(replace(SMALL, fusions=fusions)).eval()
    given, back = examples(4), [False, True, False, True]
    narrow, target, mask, style = triple(given, back)
    wide = triple(given, back, more=3)[0]
    expected = made.loss(narrow, target, mask, style)
    close(made.loss(wide, target, mask, style), expected)
    alone = [made.loss(*triple([one], [turn])) for one, turn in zip(given, back, strict=True)]
    close(torch.stack(alone).mean(), expected)


@BOTH
def test_writing_with_a_cache_equals_teacher_forcing(fusions: int) -> None:
    made = network(replace(SMALL, fusions=fusions)).eval()
    read, target, _, style = triple(examples(4), [False, True, False, True])
    with torch.no_grad():
        memory = made.encode(read)
        expected, known = made.pointer.target_log_probability(
            made.decode_all(memory, shifted(target, style)), memory.sources, target
        )
        assert known[target != WORDS.padding].all()
        cache, token = made.begin(memory), style
        for place in range(target.shape[1]):
            step, cache = made.decode_step(memory, cache, token)
            token = target[:, place]
            actual = dense(step, memory.sources).gather(1, token[:, None]).squeeze(1)
            close(actual[known[:, place]], expected[:, place].exp()[known[:, place]])


def test_every_weight_learns() -> None:
    made = network(SMALL)
    made.loss(*triple(examples(), [False, True] * 4)).backward()
    assert all(part.grad is not None and torch.isfinite(part.grad).all() for part in made.parameters())


def test_bears_a_missing_passage() -> None:
    made = network(SMALL).eval()
    read, *wanted = triple(examples(2), [False, False])
    without = read._replace(passage_mask=torch.zeros_like(read.passage_mask))
    other = without._replace(passage=torch.full_like(read.passage, 9))
    close(made.loss(other, *wanted), made.loss(without, *wanted))
    memory = made.encode(without)
    step, _ = made.decode_step(memory, made.begin(memory), wanted[2])
    assert not step.copied[2].any()
    close(dense(step, memory.sources).sum(dim=1), torch.ones(2))


@BOTH
def test_learns_both_directions(fusions: int) -> None:
    made = network(replace(SMALL, fusions=fusions)).train()
    given, back = examples(4) * 2, [False] * 4 + [True] * 4
    batch = triple(given, back)
    assert learn(made, lambda: made.loss(*batch), 110, 5e-3)[-1] < 0.06
    made.eval()
    actual = write(made, made.encode(batch[0]), batch[3], WORDS, DecodingSettings(max_tokens=8))
    for one, turn, answer in zip(given, back, actual, strict=True):
        assert answer.tokens == tuple(one.short if turn else sentence(one))
        total = answer.shares.vocabulary + sum(part.sum(dim=1) for part in answer.shares.copied)
        close(total, torch.ones(len(answer.tokens)))


# Starting from a Masque


def test_starts_from_the_layers_it_has_in_common() -> None:
    masque = lively(PREAST)
    made = network(SMALL)
    before = made.decoder.blocks[0].looks[1].query.weight.clone()
    taken = start_from(made, masque.state_dict())
    assert torch.equal(made.reader.word.weight, masque.reader.word.weight)
    assert torch.equal(made.reader.shared.blocks[0].feed.widen.weight, masque.reader.shared.blocks[0].feed.widen.weight)
    ours, theirs = made.decoder.blocks[1], masque.decoder.blocks[1]
    for mine, twin in ((0, 0), (2, 1)):  # question, passage
        assert torch.equal(ours.looks[mine].query.weight, theirs.looks[twin].query.weight)
        assert torch.equal(made.pointer.copy[mine].of_state.bias, masque.pointer.copy[twin].of_state.bias)
    for mine, twin in ((0, 0), (1, 1), (3, 2), (4, 3)):
        assert torch.equal(ours.norms[mine].weight, theirs.norms[twin].weight)
    assert torch.equal(made.pointer.output.weight, masque.pointer.output.weight)
    assert torch.equal(made.decoder.blocks[0].looks[1].query.weight, before)  # the answer is new
    assert "decoder.blocks.0.looks.1.query.weight" not in taken
    assert not any(name.startswith(("reader.fusions", "reader.own", "pointer.parts")) for name in taken)


def test_takes_no_output_of_other_words() -> None:
    masque = lively(replace(PREAST, vocabulary=10))
    made = network(replace(SMALL, vocabulary=10))
    assert "pointer.output.weight" in start_from(made, masque.state_dict())
    other = StyleTransferNetwork(replace(SMALL, vocabulary=10), torch.arange(6, 40))
    assert "pointer.output.weight" not in start_from(other, masque.state_dict())


def test_refuses_a_masque_of_another_size() -> None:
    with pytest.raises(SettingsError, match=r"no reader\.word\.weight of size \(40, 10\)"):
        start_from(network(replace(SMALL, embedding=10)), lively(PREAST).state_dict())


# Settings


def test_the_defaults_are_the_sources() -> None:
    settings = StyleTransferSettings()
    assert (settings.width, settings.heads, settings.inner, settings.decoder_layers) == (296, 8, 256, 8)
    assert settings.layers("passage") == (3, 2)
    assert settings.layers("question") == (1, 1)
    assert replace(settings, fusions=1).layers("answer") == (5,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fusions": 3}, "fusions is 3"),
        ({"heads": 5}, "does not divide"),
        ({"decoder_layers": 0}, "decoder_layers is 0"),
    ],
)
def test_refuses_settings_that_cannot_be(change: dict[str, int], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        replace(SMALL, **change)
