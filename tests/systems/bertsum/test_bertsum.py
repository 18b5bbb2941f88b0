"""QR-BERTSUM-TL: its masks, sequence, schedule, loss and search by hand, and a training of the least steps."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.systems.bertsum.about import Inputs
from wherefrom.systems.bertsum.audit import QueryTriple, query_audit
from wherefrom.systems.bertsum.encoded import read_examples, write_examples
from wherefrom.systems.bertsum.material import (
    BEGIN,
    CLASSIFY,
    FOLDS,
    PADDING,
    SEPARATE,
    EncodedTriple,
    batch_of,
    encoded,
    fold,
    stretches,
    told_by_one,
)
from wherefrom.systems.bertsum.network import BertsumNetwork, BertsumSettings, Mask, attention_mask, beam_search
from wherefrom.systems.bertsum.settings import BertsumTraining, fingerprint
from wherefrom.systems.bertsum.system import measure
from wherefrom.systems.bertsum.task import BertsumTask, BertsumTaskSettings, rouge_of
from wherefrom.systems.contract import NotTrained, Wanted
from wherefrom.train.loop import fit, trained
from wherefrom.train.optimizer import groups, set_rates
from wherefrom.train.schedule import inverse_root
from wherefrom.train.settings import LoopSettings
from wherefrom.train.stages import write_json

TINY = EncoderSettings("bert", words=120, width=8, layers=1, heads=2, inner=16, positions=64, types=2)
WORDS = {word: 3 + number for number, word in enumerate("cats dogs sleep run why do they all day home .".split())}


def cut(text: str) -> list[int]:
    return [WORDS[word] for word in text.lower().replace(".", " .").replace("?", "").split()]


def settings(mask: Mask = "bidirectional", smoothing: float = 0.1) -> BertsumSettings:
    return BertsumSettings(TINY, mask, 1, 16, 1, 0.0, smoothing)


def network(mask: Mask = "bidirectional", smoothing: float = 0.1, seed: int = 0) -> BertsumNetwork:
    torch.manual_seed(seed)
    made = BertsumNetwork(settings(mask, smoothing), BEGIN, PADDING)
    for parameter in made.parameters():  # far enough from 0 for differences to be seen
        torch.nn.init.normal_(parameter, std=0.4)
    return made.eval()


CATS = QueryTriple("Why do cats sleep?", "Cats sleep all day. Dogs run home.", "Cats sleep all day.")
EXAMPLE = encoded(CATS, cut, 100, 25, query=True)


def test_query_and_sentences_are_one_sequence_whose_types_take_turns() -> None:
    query, first, second = cut("why do cats sleep"), cut("cats sleep all day ."), cut("dogs run home .")
    assert EXAMPLE.tokens == (
        CLASSIFY, *query, SEPARATE, CLASSIFY, *first, SEPARATE, CLASSIFY, *second, SEPARATE,
    )  # fmt: skip
    assert EXAMPLE.types == (0,) * 6 + (1,) * 7 + (0,) * 6
    assert (EXAMPLE.query, EXAMPLE.sentences) == (6, (6, 13))
    assert EXAMPLE.target == (*first, SEPARATE)
    assert EXAMPLE.labels == (1.0, 0.0)


def test_without_the_query_the_document_is_alone_and_it_is_cut() -> None:
    short = encoded(CATS, cut, 6, 3, query=False)
    assert short.tokens == (CLASSIFY, *cut("cats sleep all day ."), SEPARATE, CLASSIFY, WORDS["dogs"], SEPARATE)
    assert short.types == (0,) * 7 + (1,) * 3
    assert short.query == 0
    assert short.target == (*cut("cats sleep all"), SEPARATE)


def test_the_masks_by_hand() -> None:
    query = torch.tensor([[True, True, False, False, False]])
    real = torch.tensor([[True, True, True, True, False]])
    assert attention_mask(query, real, "bidirectional").int().tolist() == [[[1, 1, 1, 1, 0]] * 5]
    assert attention_mask(query, real, "qd").int().tolist() == [
        [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 0]]
    ]


def test_with_qd_the_query_does_not_see_the_document_and_the_document_sees_it() -> None:
    other = encoded(QueryTriple(CATS.query, "Dogs run all day. Dogs run home.", CATS.summary), cut, 100, 25, query=True)
    asked_otherwise = encoded(QueryTriple("Why do dogs run?", CATS.document, CATS.summary), cut, 100, 25, query=True)
    for mask, same in (("qd", True), ("bidirectional", False)):
        model = network(mask)  # type: ignore[arg-type]
        one, two, three = (model.read(batch_of([each]).given) for each in (EXAMPLE, other, asked_otherwise))
        assert torch.allclose(one[:, :6], two[:, :6], atol=1e-6) is same
        assert not torch.allclose(one[:, 6:], three[:, 6:], atol=1e-4)


def test_padding_changes_nothing() -> None:
    model = network("qd")
    longer = EncodedTriple(
        *(EXAMPLE.tokens * 2, EXAMPLE.types * 2, 6, (6, 13, 20), EXAMPLE.target, (1.0, 0.0, 0.0), "")
    )
    alone, together = model.extract(batch_of([EXAMPLE]).given), model.extract(batch_of([EXAMPLE, longer]).given)
    assert torch.allclose(alone[0, :2], together[0, :2], atol=1e-5)
    assert together[0, 2].item() < -1000
    loss = model.writing_loss(batch_of([EXAMPLE]).given, batch_of([EXAMPLE]).target)
    padded = torch.nn.functional.pad(batch_of([EXAMPLE]).target, (0, 3), value=PADDING)
    assert torch.allclose(loss, model.writing_loss(batch_of([EXAMPLE]).given, padded), atol=1e-5)


def test_smoothed_cross_entropy_by_hand() -> None:
    """(1 - e) times -log p of the right word, and e times the mean over all words."""
    batch = batch_of([EXAMPLE])
    plain, smooth = network(smoothing=0.0), network(smoothing=0.1)
    start = torch.cat([torch.full_like(batch.target[:, :1], BEGIN), batch.target[:, :-1]], dim=1)
    logs = plain.next_logits(plain.read(batch.given), batch.given.mask, start).log_softmax(dim=-1)
    right = -logs.gather(2, batch.target[..., None]).mean()
    assert plain.writing_loss(batch.given, batch.target).item() == pytest.approx(right.item(), rel=1e-5)
    expected = 0.9 * right - 0.1 * logs.mean()
    assert smooth.writing_loss(batch.given, batch.target).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_beam_finds_the_likeliest_of_all_where_it_is_wide_enough() -> None:
    model = network(seed=3)
    given = batch_of([EXAMPLE]).given
    words = [5, 7, SEPARATE]
    forbidden = tuple(word for word in range(TINY.words) if word not in words)
    states = model.read(given)

    def score(written: tuple[int, ...]) -> float:
        total, so_far = 0.0, [BEGIN]
        for token in written:
            logits = model.next_logits(states, given.mask, torch.tensor([so_far]))[0, -1]
            total += logits.log_softmax(dim=-1)[token].item()
            so_far.append(token)
        return total

    endings = [(*body, SEPARATE) for n in (0, 1) for body in itertools.product(words[:2], repeat=n)]
    every = [*endings, *itertools.product(words[:2], repeat=2)]  # what is cut after two tokens counts too
    best = max(every, key=score)
    (written,) = beam_search(model, given, SEPARATE, forbidden, beam=9, most=2)
    assert written == tuple(token for token in best if token != SEPARATE)


def test_token_after_token_gives_the_same_logits_as_all_at_once() -> None:
    model = network()
    given = batch_of([EXAMPLE]).given
    states, written = model.read(given), torch.tensor([[BEGIN, 5, 9, 4, 7]])
    seen = model.remember(states, given.mask)
    own = model.decoder.empty(1, states)
    for place in range(written.shape[1]):
        logits, own = model.step(written[:, place : place + 1], own, seen, given.mask)
        whole = model.next_logits(states, given.mask, written[:, : place + 1])[:, -1]
        assert torch.allclose(logits, whole, atol=1e-5)


def test_each_group_has_its_own_warm_up_and_inverse_root() -> None:
    assert [inverse_root(step, 4) for step in (0, 1, 3, 15)] == pytest.approx([1 / 8, 2 / 8, 1 / 2, 1 / 4])
    loop = LoopSettings(
        learning_rate=0.1, group_rates={"encoder.": 0.002}, decay="inverse-root", group_warmups={"": 4, "encoder.": 16}
    )
    model = network()
    optimizer = torch.optim.SGD(groups(model, loop))
    set_rates(optimizer, share=1.0, step=3)
    rates = {id(parameter): group["lr"] for group in optimizer.param_groups for parameter in group["params"]}
    assert rates[id(model.encoder.word.weight)] == pytest.approx(0.002 * 4 * 16**-1.5)
    assert rates[id(model.words.weight)] == pytest.approx(0.1 * 4**-0.5)
    with pytest.raises(SettingsError, match="belong together"):
        LoopSettings(decay="inverse-root")


def test_folds_part_the_triples() -> None:
    triples = [QueryTriple(str(number), "", "") for number in range(23)]
    tested = [triple for number in range(FOLDS) for triple in fold(triples, number, "test")]
    assert sorted(tested, key=lambda each: int(each.query)) == triples
    for number in range(FOLDS):
        parts = [fold(triples, number, role) for role in ("train", "valid", "test")]  # type: ignore[arg-type]
        assert sum(map(len, parts)) == 23
        assert len({each.query for part in parts for each in part}) == 23
    with pytest.raises(SettingsError, match="from 0 to 9"):
        BertsumTraining(fold=10)


def test_the_audit_counts_by_hand() -> None:
    triples = [CATS, QueryTriple("Do zebras migrate?", "Trains are late.", "Trains run late.")]
    audit = query_audit(triples)
    # cats, sleep stand in both texts of the first; zebra and migrate in none of the second.
    assert (audit["in_document"], audit["in_summary"]) == (0.5, 0.5)
    assert audit["in_other_document"] == 0.0
    assert (audit["unrelated"], audit["yes_no"]) == (0.5, 0.5)


@pytest.mark.parametrize("goal", ["write", "extract"])
def test_it_learns_in_a_few_steps(goal: str, tmp_path: Path) -> None:
    dogs = encoded(QueryTriple("Why do dogs run?", CATS.document, "Dogs run home."), cut, 100, 25, query=True)
    examples = [EXAMPLE, dogs]
    task = BertsumTask(goal, examples, examples, settings(), BertsumTaskSettings(batch=2, beam=3), {})  # type: ignore[arg-type]
    loop = LoopSettings(
        steps=150,
        learning_rate=0.1,
        decay="inverse-root",
        group_warmups={"": 20},
        metric="loss_valid",
        goal="min",
        evaluate_every=75,
        report_every=75,
    )
    losses = [report.metrics["loss_valid"] for report in fit(task, loop, tmp_path / goal) if report.metrics]
    assert losses[-1] < 0.5 * losses[0]
    if goal == "write":
        written = task.written(trained(task, tmp_path / goal), examples)
        assert written == [each.target[:-1] for each in examples], "the same document is told as the query wants it"


def test_rouge_by_hand() -> None:
    scores = rouge_of(["cats sleep"], ["cats sleep all day"])
    assert (scores["rouge_1_p"], scores["rouge_1_r"]) == (1.0, 0.5)
    assert scores["rouge_l_f"] == pytest.approx(2 / 3)
    assert math.isclose(scores["rouge_2_r"], 1 / 3)


def test_a_stretch_is_told_by_the_sentence_that_says_most_of_the_others() -> None:
    others = ["Red foxes live in the north.", "Red foxes hunt mice at night in the north.", "Mice sleep."]
    central = "In the north red foxes hunt mice at night."
    triple = told_by_one([others[0], central, *others[1:]])
    assert triple == QueryTriple("", " ".join(others), central)
    assert told_by_one([central, *others[:2]]) is None, "too few sentences"
    assert told_by_one([*others[:1] * 3, others[2]]) is None, "none that is long enough"


def test_stretches_are_whole_paragraphs_without_headings() -> None:
    paragraph = " ".join(["Seven words are in this one sentence."] * 20)
    text = "\n".join(["A heading.", paragraph, paragraph, "Another heading.", paragraph])
    assert [len(stretch) for stretch in stretches(text)] == [40], "what is left over at the end is too short"


def test_rows_are_means_of_the_folds_that_are_there(tmp_path: Path) -> None:
    settings, asked = BertsumTraining(), Wanted("plain", reported=("rouge_1_r",), dataset="Debatepedia")
    inputs = Inputs(data=tmp_path, pretrained=tmp_path)
    with pytest.raises(NotTrained, match="plain-debatepedia-0-"):
        measure(settings, inputs, asked, tmp_path, print)
    for number in range(FOLDS):
        mark = fingerprint(replace(settings, fold=number).described())
        scores = {"ours": {"rouge_1_r": number / 10}, "first sentence": {"rouge_1_r": 0.9}}
        (tmp_path / f"plain-debatepedia-{number}-{mark}").mkdir()
        write_json(tmp_path / f"plain-debatepedia-{number}-{mark}" / "scores.json", scores)
    assert measure(settings, inputs, asked, tmp_path, print).metrics == {"rouge_1_r": pytest.approx(0.45)}
    with pytest.raises(NotTrained):
        measure(replace(settings, query=False), inputs, asked, tmp_path, print)
    with pytest.raises(SettingsError, match="nothing to stand in for DUC"):
        measure(settings, inputs, replace(asked, dataset="DUC"), tmp_path, print)


def test_both_masks_share_a_pretraining_and_nothing_else_does() -> None:
    plain, masked = BertsumTraining(), BertsumTraining(network=BertsumSettings(mask="qd"))
    assert plain.before_tuning() == masked.before_tuning()
    assert plain.described() != masked.described()
    assert plain.before_tuning() != BertsumTraining(extract_first=True).before_tuning()
    assert "before" not in BertsumTraining(transfer=False).described()
    assert BertsumTraining(data="qa2d").focused.document_tokens == 256
    with pytest.raises(SettingsError, match="not cut into folds"):
        BertsumTraining(data="qa2d", fold=1)


def test_examples_are_read_as_they_were_written(tmp_path: Path) -> None:
    plain = encoded(CATS, cut, 100, 25, query=False)
    short = encoded(QueryTriple("", "Cats run.", "Cats."), cut, 100, 25, query=False)
    write_examples(tmp_path / "generic.safetensors", {"news": [plain, short], "encyclopedia": [short]})
    assert read_examples(tmp_path / "generic.safetensors", "news") == [
        replace(plain, summary=""), replace(short, summary="")
    ]  # fmt: skip
    assert read_examples(tmp_path / "generic.safetensors", "encyclopedia") == [replace(short, summary="")]
