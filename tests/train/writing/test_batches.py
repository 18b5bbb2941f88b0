"""Microbatches for writing: what is drawn, and how it is put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the writer's material needs tokenizers")

import numpy
import torch
from torch import Tensor

from train.letters import MARKS, letters_tokenizer, read
from train.writing.towns import TOWNS, towns_material
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.train.batching import LazyBatches
from wherefrom.train.writing.batches import (
    WriterBatch,
    WriterBatchSettings,
    decoder_targets,
    joint,
    separate,
    short_answers,
)
from wherefrom.train.writing.material import WritingMaterial, save_synthetic, shuffled, with_synthetic
from wherefrom.train.writing.sampling import WriterSampler, evenly_cut
from wherefrom.train.writing.transfer_batches import TransferSampler, transferred

SETTINGS = WriterBatchSettings(passages=4, max_tokens=90, max_passage=80, tokens=2000, marks=MARKS, title_dropout=0.0)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> WritingMaterial:
    return towns_material(tmp_path_factory.mktemp("batches"))


def all_of(batches: LazyBatches[WriterBatch]) -> Iterator[WriterBatch]:
    return (batches[number] for number in range(len(batches)))


def towns(batch: WriterBatch) -> Iterator[tuple[int, list[int], bool]]:
    """Every question with its passages and whether it is answerable."""
    for place, example in enumerate(batch.example.tolist()):
        mine = (batch.pairs.group == place).tolist()
        passages = [passage for passage, on in zip(batch.pairs.passage.tolist(), mine, strict=True) if on]
        yield example, passages, bool(batch.answerable[place])


def test_a_question_is_answerable_when_its_gold_passage_is_there(material: WritingMaterial) -> None:
    sampler = WriterSampler(material, SETTINGS)
    seen = set()
    for batch in all_of(sampler.batches(0, 1)):
        assert len(batch.pairs.passage) * batch.pairs.length <= SETTINGS.tokens
        for example, passages, answerable in towns(batch):
            assert example not in seen
            seen.add(example)
            assert 1 <= len(set(passages)) == len(passages) <= 4
            if material["gold"][example] >= 0:
                assert (int(material["gold"][example]) in passages) == answerable
        relevant = batch.pairs.passage == torch.from_numpy(material["gold"])[batch.example][batch.pairs.group]
        assert torch.equal(relevant, batch.pairs.relevant)
        for group in batch.row.tolist():
            assert batch.answerable[group]
    assert seen == {n for n in range(len(material["valid"])) if not material["valid"][n] and material["source"][n] < 2}


def test_every_microbatch_has_its_quota(material: WritingMaterial) -> None:
    sampler = WriterSampler(material, replace(SETTINGS, tokens=0, size=22))
    counts = [(int(batch.answerable.sum()), batch.pairs.groups) for batch in all_of(sampler.batches(3, 1))]
    full = [answerable for answerable, questions in counts if questions == 22]
    assert len(full) == 5
    assert all(abs(answerable - 22 * 27 / 44) <= 1 for answerable in full)
    asked = sum(questions for _, questions in counts)
    assert sum(answerable for answerable, _ in counts) == round(asked * 27 / 44)


def test_a_high_quota_leaves_questions_out(material: WritingMaterial) -> None:
    settings = replace(SETTINGS, put_back=False, quota=(9, 10))
    counts = Counter(
        answerable
        for batch in all_of(WriterSampler(material, settings).batches(0, 1))
        for *_, answerable in towns(batch)
    )
    answerable = sum(number % 3 != 0 for number in range(TOWNS - 12)) + 9
    assert counts == {True: answerable, False: round(answerable / 9)}


def test_without_quota_gold_passages_are_removed_by_chance(material: WritingMaterial) -> None:
    for removed, wanted in ((0.0, 0), (1.0, TOWNS - 12)):
        settings = replace(SETTINGS, quota=(), removed=removed)
        batches = WriterSampler(material, settings).batches(0, 1)
        assert sum(not answerable for batch in all_of(batches) for *_, answerable in towns(batch)) == wanted
    kept = replace(SETTINGS, quota=(), removed=0.0, put_back=False)
    batches = WriterSampler(material, kept).batches(0, 1)
    unanswerable = {example for batch in all_of(batches) for example, _, right in towns(batch) if not right}
    assert unanswerable == {number for number in range(TOWNS - 12) if number % 3 == 0}


def with_sentence(number: int) -> bool:
    """Whether a town has a sentence to train on."""
    return number < TOWNS - 12 and number % 4 == 0 and number % 20 != 0


def test_questions_with_a_sentence_are_spared(material: WritingMaterial) -> None:
    for settings in (
        replace(SETTINGS, quota=(), removed=1.0, put_back=False, spare_sentences=True),
        replace(SETTINGS, quota=(1, 4), put_back=False, spare_sentences=True),
    ):
        batches = all_of(WriterSampler(material, settings).batches(0, 1))
        answerable = {number: right for batch in batches for number, _, right in towns(batch)}
        assert all(answerable[number] for number in range(TOWNS - 12) if with_sentence(number))
        assert not all(right for number, right in answerable.items() if number % 3 and not with_sentence(number))


def test_questions_with_a_sentence_are_drawn_again_for_their_share(material: WritingMaterial) -> None:
    def times_drawn(share: float) -> Counter[int]:
        settings = replace(SETTINGS, quota=(), removed=0.0, sentence_share=share)
        batches = all_of(WriterSampler(material, settings).batches(0, 1))
        return Counter(number for batch in batches for number, *_ in towns(batch))

    drawn = times_drawn(0.5)
    again = [times for number, times in drawn.items() if with_sentence(number)]
    once = [times for number, times in drawn.items() if not with_sentence(number)]
    assert sum(again) == len(once), "they are not half of all"
    assert max(again) - min(again) <= 1, "some are drawn much more often than others"
    assert set(once) == {1}
    assert set(times_drawn(0.01).values()) == {1}, "some are left out"
    with pytest.raises(SettingsError, match="sentence_share"):
        replace(SETTINGS, sentence_share=1.0)


def test_epochs_differ_and_repeat(material: WritingMaterial) -> None:
    def drawn(epoch: int, seed: int) -> list[object]:
        batches = WriterSampler(material, SETTINGS).batches(epoch, seed)
        return [
            (batch.example.tolist(), batch.pairs.passage.tolist(), batch.target.tolist()) for batch in all_of(batches)
        ]

    assert drawn(0, 1) == drawn(0, 1)
    assert drawn(0, 1) != drawn(1, 1)
    assert drawn(0, 1) != drawn(0, 2)


def test_the_gold_passage_may_stand_anywhere(material: WritingMaterial) -> None:
    batches = WriterSampler(material, SETTINGS).batches(0, 1)
    slots = Counter(slot for batch in all_of(batches) for slot in batch.slot[batch.pairs.relevant].tolist())
    assert set(slots) == {0, 1, 2, 3}
    assert max(slots.values()) < 0.5 * sum(slots.values())


def test_guessed_passages_of_a_story_come_before_others(material: WritingMaterial) -> None:
    batches = WriterSampler(material, replace(SETTINGS, passages=2)).batches(0, 1)
    stories = 0
    for batch in all_of(batches):
        for place, example in enumerate(batch.example.tolist()):
            if material["source"][example] == 1:
                weak = material["passages"][example][material["weak"][example] == 1]
                passages = batch.pairs.passage[batch.pairs.group == place]
                assert numpy.isin(passages.numpy(), weak).sum() == 1
                assert not batch.labelled[place]
                stories += 1
    assert stories == 9


Written = dict[int, list[tuple[int, str]]]  # of every example, style tokens and texts


def written(material: WritingMaterial, settings: WriterBatchSettings, epoch: int = 0) -> Written:
    """For every example the styles and texts that are to be written."""
    texts: Written = {}
    for batch in all_of(WriterSampler(material, settings).batches(epoch, 1)):
        wanted = decoder_targets(material.on(CPU), batch, settings)
        for place in range(len(batch.row)):
            example = int(batch.example[batch.row[place]])
            text = read(wanted.targets[place][wanted.mask[place]].tolist())
            texts.setdefault(example, []).append((int(batch.style[place]), text))
    return texts


ALL_ANSWERABLE = replace(SETTINGS, quota=(), removed=0.0)


def test_a_gold_sentence_is_preferred_and_held_out_ones_are_never_written(material: WritingMaterial) -> None:
    texts = written(material, ALL_ANSWERABLE)
    for number in range(TOWNS - 12):
        (one,) = texts[number]
        if number % 4 == 0 and number % 20 != 0:
            assert one == (MARKS.sentence, f"town {number} has {number}7 bridges . [unused1]")
        else:
            assert one == (MARKS.short, f"{number}7 [unused1]")
    for number in range(TOWNS, TOWNS + 9):
        assert texts[number][0] in [(MARKS.narrative, "gold [unused1]"), (MARKS.narrative, "the gold [unused1]")]
    assert len({texts[number][0] for number in range(TOWNS, TOWNS + 9)}) == 2, "one of the references is never drawn"


def test_every_style_from_one_reading(material: WritingMaterial) -> None:
    texts = written(material, replace(ALL_ANSWERABLE, styles="every"))
    assert texts[4] == [(MARKS.short, "47 [unused1]"), (MARKS.sentence, "town 4 has 47 bridges . [unused1]")]
    assert texts[5] == [(MARKS.short, "57 [unused1]")]


@pytest.fixture
def augmented(material: WritingMaterial, tmp_path: Path) -> WritingMaterial:
    """Synthetic sentences for all towns: `the town is old`, and second ones that nobody needs."""
    tokens = letters_tokenizer().encode("the town is old .", add_special_tokens=False).ids
    second = letters_tokenizer().encode("never", add_special_tokens=False).ids
    path = tmp_path / "synthetic.safetensors"
    save_synthetic(path, [*range(TOWNS), *range(TOWNS)], [tokens] * TOWNS + [second] * TOWNS)
    return with_synthetic(material, path)


def test_synthetic_sentences_are_written_half_the_time(augmented: WritingMaterial) -> None:
    styles: Counter[int] = Counter()
    for epoch in range(4):
        for number, [(style, text)] in written(augmented, ALL_ANSWERABLE, epoch).items():
            if number >= TOWNS:
                continue
            described = number % 4 == 1
            if number % 4 == 0 and number % 20 != 0:
                assert text.startswith(f"town {number}")
            elif described:
                assert style == MARKS.short, "NLG_aug(-) takes no sentence for a description"
            else:
                styles[style] += 1
                assert style == MARKS.short or text == "the town is old . [unused1]"
    assert 0.4 < styles[MARKS.sentence] / sum(styles.values()) < 0.6


def test_all_synthetic_sentences_on_request(material: WritingMaterial, tmp_path: Path) -> None:
    path = tmp_path / "synthetic.safetensors"
    save_synthetic(path, [1, TOWNS - 1], [[20, 21], [22]])
    texts = with_synthetic(material, path, descriptive=True)
    assert texts["synthetic"][1] >= 0
    assert texts["synthetic"][TOWNS - 1] == -1, "a question of validation"
    assert with_synthetic(material, path)["synthetic"][1] == -1
    assert material["synthetic"][1] == -1, "what was given has been changed"
    save_synthetic(path, [100_000], [[20]])
    with pytest.raises(WherefromError, match="not among"):
        with_synthetic(material, path)


def test_joint_sequences_are_the_reader_s(material: WritingMaterial) -> None:
    sampler = WriterSampler(material, SETTINGS)
    for batch in all_of(sampler.batches(0, 1)):
        sequences = joint(material.on(CPU), batch, SETTINGS)
        for pair in range(len(batch.pairs.passage)):
            tokens = sequences.tokens[pair]
            parts = read(tokens[sequences.mask[pair]].tolist()).split(" [SEP]")
            question = material.text("question", int(batch.pairs.question[pair]))
            assert parts[0] == f"[CLS] {read(question)}"
            assert read(tokens[sequences.passage[pair]].tolist()) == parts[-2].strip()


def test_separate_texts_are_those_of_the_joint_sequences(material: WritingMaterial) -> None:
    for settings in (SETTINGS, replace(SETTINGS, title_dropout=1.0)):
        for batch in all_of(WriterSampler(material, settings).batches(0, 1)):
            together = joint(material.on(CPU), batch, settings)
            apart = separate(material.on(CPU), batch, settings)
            assert int(apart.real.sum()) == len(batch.pairs.passage)
            for pair, (group, slot) in enumerate(zip(batch.pairs.group.tolist(), batch.slot.tolist(), strict=True)):
                passage = together.tokens[pair][together.passage[pair]]
                own = apart.passages.tokens[group, slot]
                assert torch.equal(own[apart.copyable[group, slot]], passage)
                text = read(own[apart.passages.mask[group, slot]].tolist())
                assert text.startswith(
                    "[CLS] town" if settings.title_dropout == 0.0 and "[SEP]" in text else "[CLS] the"
                )
                question = apart.question.tokens[group][apart.question.mask[group]]
                assert question.tolist() == material.text("question", int(batch.pairs.question[pair]))
            missing = apart.passages.tokens[~apart.real]
            assert bool((missing[:, 0] == MARKS.classify).all())
            assert not bool(missing[:, 1:].any())


def test_a_decoder_says_the_next_token(material: WritingMaterial) -> None:
    settings = replace(ALL_ANSWERABLE, styles="every", max_target=8)
    for batch in all_of(WriterSampler(material, settings).batches(0, 1)):
        wanted = decoder_targets(material.on(CPU), batch, settings)
        assert torch.equal(wanted.inputs[:, 0], batch.style)
        assert torch.equal(wanted.inputs[:, 1:][wanted.mask[:, 1:]], wanted.targets[:, :-1][wanted.mask[:, 1:]])
        assert wanted.inputs.shape == (len(batch.row), batch.target_length)
        lengths = material.lengths("target")[batch.target.numpy()]
        for place, length in enumerate(lengths.tolist()):
            ends = MARKS.end in wanted.targets[place].tolist()
            assert ends == (length < 8), "an answer that is cut must not end"
        short = short_answers(material.on(CPU), batch, settings)
        for place in range(len(batch.row)):
            example = int(batch.example[batch.row[place]])
            answer = read(short.tokens[place][short.mask[place]].tolist())
            assert answer == f"{example}7" or example >= TOWNS


def test_validation_takes_the_passages_as_they_are(material: WritingMaterial) -> None:
    sampler = WriterSampler(material, replace(SETTINGS, passages=6))
    valid = numpy.flatnonzero(material["valid"] == 1)
    seen = []
    for batch in all_of(sampler.given(valid, "sentence")):
        for example, passages, answerable in towns(batch):
            assert passages == [passage for passage in material["passages"][example].tolist() if passage >= 0]
            assert answerable == (example % 3 != 0)
            seen.append(example)
        wanted = {int(batch.example[group]) for group in batch.row.tolist()}
        assert wanted == {example for example in batch.example.tolist() if example % 4 == 0 and example % 3 != 0}
    assert sorted(seen) == valid.tolist()
    places = set()
    for batch in all_of(sampler.given(valid, "sentence", put_back=True)):
        assert bool(batch.answerable.all())
        assert {int(batch.example[group]) for group in batch.row.tolist()} == {
            example for example in batch.example.tolist() if example % 4 == 0
        }
        left_out = torch.tensor([example % 3 == 0 for example in batch.example.tolist()])
        places.update(batch.slot[batch.pairs.relevant & left_out[batch.pairs.group]].tolist())
    assert len(places) > 1, "a gold passage that is put back always stands at the same place"
    few = WriterSampler(material, replace(SETTINGS, passages=2))
    for batch in all_of(few.given(valid, "short")):
        assert torch.equal(
            torch.bincount(batch.pairs.group[batch.pairs.relevant], minlength=batch.pairs.groups) > 0, batch.answerable
        )


def test_stories_can_be_told_of_in_sentences(material: WritingMaterial) -> None:
    stories = numpy.flatnonzero(material.of("narrativeqa"))
    asked = {
        style: list(WriterSampler(material, SETTINGS).given(stories, style)) for style in ("narrative", "sentence")
    }
    targets = {
        style: [target for batch in batches for target in batch.target.tolist()] for style, batches in asked.items()
    }
    assert targets["sentence"] == targets["narrative"] != []  # there are no sentences to compare with
    assert {token for batch in asked["sentence"] for token in batch.style.tolist()} == {MARKS.sentence}
    assert [len(batch.row) for batch in WriterSampler(material, SETTINGS).given(stories, "short")] == [0]


def test_style_transfer_sees_question_answer_and_the_sentence_around(material: WritingMaterial) -> None:
    sampler = TransferSampler(material, SETTINGS)
    batches = sampler.batches(0, 1)
    seen: Counter[int] = Counter()
    for number in range(len(batches)):
        batch = batches[number]
        seen.update(batch.example.tolist())
        sources = transferred(material.on(CPU), batch, SETTINGS)
        wanted = decoder_targets(material.on(CPU), batch, SETTINGS)
        for row, example in enumerate(batch.example.tolist()):
            question, answer, context = (
                read(source.tokens[row][source.mask[row]].tolist())
                for source in (sources.question, sources.answer, sources.context)
            )
            sentence = read(wanted.targets[row][wanted.mask[row]].tolist())
            if example < TOWNS:
                around = f"town {example} has {example}7 bridges ."
                assert question == f"how many bridges has town {example} ?"
                assert (answer, context, sentence) == (f"{example}7", around, f"{around} [unused1]")
            else:
                assert (question, answer, context) == ("who is old ?", "ana", "")
                assert sentence.startswith("ana is")
    trained = [number for number in range(0, TOWNS - 12, 4) if number % 20 != 0]
    assert seen == Counter([*trained, TOWNS + 9])


def test_style_transfer_is_validated_on_held_out_sentences_and_asked_for_the_rest(material: WritingMaterial) -> None:
    sampler = TransferSampler(material, SETTINGS)

    def examples(batches: LazyBatches[object]) -> list[int]:
        texts: list[Tensor] = [batches[number].example for number in range(len(batches))]  # type: ignore[attr-defined]
        return sorted(torch.cat(texts).tolist())

    held = [number for number in range(0, TOWNS, 4) if number % 20 == 0 or number >= TOWNS - 12]
    assert examples(sampler.valid()) == held  # type: ignore[arg-type]
    rest = [number for number in range(TOWNS - 12) if number % 4 != 0 or number % 20 == 0]
    assert examples(sampler.answers(sampler.to_synthesise())) == rest  # type: ignore[arg-type]


def test_microbatches_keep_the_budget_and_pad_little() -> None:
    chance = numpy.random.default_rng(0)
    length, pieces = chance.integers(40, 250, 5000), chance.integers(5, 11, 5000)
    kind = (chance.random(5000) < 0.4).astype(int)
    settings = WriterBatchSettings(tokens=16_384)
    cut = evenly_cut(length, pieces, kind, settings, chance)
    assert sorted(place for some in cut for place in some) == list(range(5000))
    sizes = [pieces[some].sum() * -(-length[some].max() // 8) * 8 for some in cut]
    assert max(sizes) <= 16_384
    assert (length * pieces).sum() / sum(sizes) > 0.9
    shares = [kind[some].mean() for some in cut if len(some) >= 10]
    assert max(shares) - min(shares) < 0.2


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"passages": 0}, {"quota": (3, 2)}, {"quota": (3,)}, {"size": 4}, {"max_tokens": 70}, {"subset": 0}):
        with pytest.raises(SettingsError):
            WriterBatchSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"shares.narrative: there is no such source; there are ten-passages, "):
        WriterBatchSettings(shares={"narrative": 0.5})


def test_shuffled_passages_take_their_labels_with_them(material: WritingMaterial) -> None:
    other = shuffled(material)
    assert (other["passages"] != material["passages"]).any()
    for before, after in zip(
        zip(material["passages"], material["relevant"], strict=True),
        zip(other["passages"], other["relevant"], strict=True),
        strict=True,
    ):
        assert sorted(zip(*before, strict=True)) == sorted(zip(*after, strict=True))
        assert ((before[0] < 0) == (after[0] < 0)).all()  # places without a passage stay where they are
    assert (shuffled(material)["passages"] == other["passages"]).all()
