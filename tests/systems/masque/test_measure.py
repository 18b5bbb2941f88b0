"""The rows of masque and preast: runs that were copied in, runs that are not there, and one trained for real."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the writer's material needs tokenizers")

import torch
from paper_files import HEAD
from safetensors.torch import save_file
from wherefrom.networks.masque import MasqueSettings
from wherefrom.papers.writer_rows import WriterRows
from wherefrom.papers.writer_runs import Files, WriterRuns

from train.letters import letters_tokenizer
from train.writing.towns import towns_material
from wherefrom.errors import WherefromError
from wherefrom.origin import file_hash
from wherefrom.papers.faults import RunFailed, RunRefused, TableFault
from wherefrom.papers.results import measured
from wherefrom.papers.runner import Outcome, reproduce
from wherefrom.papers.table import load, paper
from wherefrom.systems.masque.style_transfer import StyleTransferSettings
from wherefrom.train.writing.corpus import texts_beside
from wherefrom.train.writing.material import save_synthetic

TOKENIZER = letters_tokenizer()
RIGHT, WRONG = {112: "town 112 has 1127 bridges.", 116: "town 116 has 1167 bridges."}, "people walk in the river."


def line(asked: str, example: int, text: str | None, chance: float = 0.9, right_first: bool = True) -> dict[str, Any]:
    tokens = None if text is None else TOKENIZER.encode(text).ids
    return {
        "asked": asked,
        "example": example,
        "tokens": tokens,
        "target": tokens,
        "answerable": text is not None,
        "chance": chance,
        "scores": [0.7, 0.1] if right_first else [0.1, 0.7],
        "relevant": [text is not None, False],
    }


SAID = [
    line("short", 112, "1127"),
    line("short", 113, "9", 0.3, right_first=False),
    line("short", 111, None, 0.2),
    line("sentence", 112, RIGHT[112]),
    line("sentence", 116, WRONG),
    line("short of sentence", 112, "1127"),
    line("short of sentence", 116, "1167"),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    towns_material(folder)
    save_synthetic(folder / "synthetic.safetensors", [1, 2, 5], [[10, 11], [10], [12]])
    minilm = tmp_path / "pretrained" / "minilm"
    minilm.mkdir(parents=True)
    TOKENIZER.save(str(minilm / "tokenizer.json"))
    save_file({"embeddings.word_embeddings.weight": torch.randn(30_522, 16)}, minilm / "model.safetensors")
    return folder


def rows(slug: str, work: Path, device: str | None = None) -> WriterRows:
    return WriterRows(paper(slug), work, work.parent / "pretrained", device, lambda _: None, lambda name, at: at / name)


def outcome(slug: str, row_id: str, work: Path) -> Outcome:
    return rows(slug, work)(paper(slug).row(row_id))


def copied_in(work: Path, slug: str, file: str, said: Iterable[dict[str, Any]] = SAID) -> None:
    """The runs of a settings file, as a machine with a GPU would have left them."""
    files = Files(work, work.parent)
    for run in WriterRuns(paper(slug), files, None, print).of(file):
        data = {"writer.safetensors": file_hash(files.material)}
        if run.training.synthetic != "none":
            data["synthetic"] = file_hash(files.synthetic)
        run.folder.mkdir()
        task = {"data": data, "settings": {**asdict(run.training.task), "network": asdict(run.training.network)}}
        loop = {**asdict(run.training.loop), "seed": run.seed}
        about = {"task": task, "settings": loop, "finished": True}
        (run.folder / "provenance.json").write_text(json.dumps(about))
        (run.folder / "said.jsonl").write_text("\n".join(map(json.dumps, said)))


def test_every_measure_of_a_row_is_taken_from_what_was_said(work: Path) -> None:
    copied_in(work, "preast", "preast.toml")
    found = outcome("preast", "ta-1-preast", work)
    assert set(found.metrics) == set(paper("preast").row("ta-1-preast").reported)
    assert 0.5 < found.metrics["rouge_l"] < 0.75  # one sentence of two is right
    assert found.metrics["qa_rouge_l"] == pytest.approx(0.5)
    assert found.metrics["map"] == found.metrics["mrr"] == pytest.approx(0.75)  # first, and second
    assert (found.metrics["answerable_f1"], found.metrics["threshold"]) == (1.0, 0.3)
    assert found.seed == 1
    assert [path.name for path in found.data] == [
        "writer.safetensors",
        "writer.texts.jsonl.gz",
        "synthetic.safetensors",
        "provenance.json",
        "said.jsonl",
    ]
    assert outcome("preast", "s5-2-2-zero-overlap-preast", work).metrics == {"zero_overlap": 0.5}


def test_rows_of_a_group_count_its_questions_alone(work: Path) -> None:
    copied_in(work, "preast", "masque.toml")
    overall = outcome("preast", "t5-4-all-overall", work).metrics["rouge_l"]
    assert outcome("preast", "t5-4-all-keyword-how", work).metrics["rouge_l"] == pytest.approx(overall)
    assert outcome("preast", "t5-4-all-type-numeric", work).metrics["rouge_l"] == pytest.approx(overall)
    with pytest.raises(WherefromError, match=r"none of the 2 questions that were asked is of the group 'type Person'"):
        outcome("preast", "t5-4-all-type-person", work)


def test_either_style_is_scored_against_either_task(work: Path) -> None:
    copied_in(work, "masque", "nlg.toml")
    rouge = {
        row: outcome("masque", row, work).metrics["rouge_l"]
        for row in ("t2-nlg-masque-nlg", "t2-qa-masque-nlg", "t2-nlg-masque-qa", "t2-qa-masque-qa", "t3-masque")
    }
    assert rouge["t3-masque"] == rouge["t2-nlg-masque-nlg"] > 0.5
    assert rouge["t2-qa-masque-qa"] == pytest.approx(0.5)  # 1127 is right, 9 is not
    assert 0 < rouge["t2-qa-masque-nlg"] < 0.3  # one word in five of one sentence
    assert 0 < rouge["t2-nlg-masque-qa"] < 0.6  # both are right, and one word of six
    assert not (work / "masque.qa").exists()


def test_an_ensemble_votes(work: Path) -> None:
    copied_in(work, "masque", "nlg-ensemble.toml")
    assert sorted(path.name for path in work.glob("masque.*")) == ["masque.nlg", "masque.nlg-2", "masque.nlg-3"]
    for name in ("masque.nlg-2", "masque.nlg-3"):
        right = [line("sentence", example, RIGHT[example]) for example in (112, 116)]
        (work / name / "said.jsonl").write_text("\n".join(map(json.dumps, right)))
    found = outcome("masque", "t2-nlg-masque-nlg-ensemble", work)
    assert found.metrics["rouge_l"] == pytest.approx(1.0)
    assert len(found.data) == 2 + 3 * 2
    assert outcome("masque", "t3-masque", work).metrics["rouge_l"] < 0.8


def test_style_transfer_is_told_the_answer(work: Path) -> None:
    told = [line("told", 112, RIGHT[112]), line("told", 116, WRONG), line("reverse", 112, "1127")]
    copied_in(work, "preast", "style-transfer.toml", told)
    copied_in(work, "preast", "style-transfer-one-fusion.toml", [line("told", 112, WRONG), line("told", 116, WRONG)])
    whole = outcome("preast", "s5-2-1-style-transfer", work).metrics
    assert whole["exact"] == 0.5
    assert 0.5 <= whole["bleu_1"] < 1
    change = outcome("preast", "s5-2-1-one-fusion", work).metrics["rouge_l_change"]
    assert -0.5 <= change < -0.3


def test_shares_are_those_of_the_synthetic_sentences(work: Path) -> None:
    shares = {
        name: outcome("preast", f"t5-4-share-{name}", work).metrics["group_share"]
        for name in ("type-description", "type-numeric", "keyword-how", "keyword-why")
    }  # towns 1 and 5 are asked how they are made
    assert shares["type-description"] == pytest.approx(2 / 3)
    assert shares["type-numeric"] == pytest.approx(1 / 3)
    assert (shares["keyword-how"], shares["keyword-why"]) == (1.0, 0.0)


def test_stories_are_scored_by_their_own_measures(work: Path) -> None:
    texts = texts_beside(work / "writer.safetensors")
    with gzip.open(texts, "rt") as file:
        lines = [json.loads(each) for each in file]
    story = next(each for each in lines if each["source"] == "narrativeqa")
    story["valid"] = True
    with gzip.open(texts, "wt") as file:
        file.writelines(json.dumps(each) + "\n" for each in lines)
    said = [("narrative", "the gold"), ("narrative in sentences", "the")]
    copied_in(work, "masque", "nqa.toml", [line(asked, story["example"], text) for asked, text in said])
    found = outcome("masque", "t5-masque-nqa", work).metrics
    assert (found["rouge_l"], found["bleu_1"]) == (pytest.approx(1.0), pytest.approx(1.0))
    assert found["meteor"] == pytest.approx(1 - 0.5 / 8)  # two words in one chunk
    assert set(found) == {"bleu_1", "bleu_4", "meteor", "rouge_l"}
    in_sentences = outcome("masque", "t5-masque-nlg", work).metrics  # the same run, asked in another style
    assert 0 < in_sentences["rouge_l"] < 1
    assert set(in_sentences) == set(found)


def test_shuffled_passages_flip_a_linear_classifier(work: Path) -> None:
    shuffled = [line("shuffled", 112, "1127", 0.4), line("shuffled", 111, None, 0.2)]
    copied_in(work, "preast", "masque-bs88.toml", [*SAID, *shuffled])
    assert outcome("preast", "s1-flipped-masque", work).metrics == {"flipped": 0.5}


@pytest.mark.parametrize(
    ("row_id", "said", "message"),
    [
        ("t3-masque", SAID[:3], "has nothing asked for as 'sentence'"),
        ("f4-masque", SAID[:2], "answerable_f1 cannot be measured"),
        ("t3-masque", [line("sentence", 3, "x")], "tells of example 3, which .* does not know"),
    ],
)
def test_what_was_not_said_cannot_be_measured(work: Path, row_id: str, said: list[Any], message: str) -> None:
    copied_in(work, "masque", "nlg.toml", said)
    with pytest.raises(WherefromError, match=message):
        outcome("masque", row_id, work)


def test_a_run_of_other_settings_is_not_taken(work: Path, tmp_path: Path) -> None:
    copied_in(work, "preast", "masque-pair-max.toml")
    (work / "preast.masque-pair-max").rename(work / "preast.masque")
    with pytest.raises(
        WherefromError, match=r"preast.masque is not a run of these settings: network.ranker is 'pair', n"
    ):
        outcome("preast", "t5-4-all-overall", work)
    with pytest.raises(RunFailed, match=r"network.ranker is 'pair', not 'point'; network.classifier is 'max'"):
        reproduce(paper("preast"), "t5-4-all-overall", tmp_path / "runs", rows("preast", work))


def test_a_run_of_another_material_is_not_taken(work: Path) -> None:
    copied_in(work, "preast", "preast.toml")
    save_synthetic(work / "synthetic.safetensors", [1], [[10]])
    with pytest.raises(WherefromError, match=r"it learned from other sentences than .*synthetic.safetensors"):
        outcome("preast", "t5-5-preast", work)
    towns_material(work, 40)
    with pytest.raises(WherefromError, match=r"it learned from another material than .*writer.safetensors"):
        outcome("preast", "t5-5-preast", work)


def test_a_run_must_say_what_it_is_and_be_finished(work: Path) -> None:
    copied_in(work, "masque", "nlg.toml")
    about = work / "masque.nlg" / "provenance.json"
    about.write_text(about.read_text().replace('"finished": true', '"finished": false'))
    with pytest.raises(WherefromError, match=r"had not finished"):
        outcome("masque", "t3-masque", work)
    about.unlink()
    with pytest.raises(WherefromError, match=r"provenance.json is not there .* nothing says what was trained"):
        outcome("masque", "t3-masque", work)


def test_rows_without_a_run_are_refused_and_the_others_measured(work: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(RunRefused, match=r"masque.nlg has not said anything yet; --device .* 700 steps"):
        reproduce(paper("masque"), None, runs, rows("masque", work))
    copied_in(work, "masque", "nlg.toml")
    summary = reproduce(paper("masque"), None, runs, rows("masque", work))
    saved = {found.row_id for found in summary.saved}
    assert {"t2-qa-masque-qa", "t3-masque", "t4-masque", "f4-masque"} <= saved
    assert {found.row_id for found in measured(runs, [paper("masque")])} == saved
    refused = {refusal.row.id: refusal.reason for refusal in summary.refused}
    assert "masque.nqa has not said anything" in refused["t5-masque-nlg"]
    assert "masque.nlg-2 has not said anything" in refused["t2-nlg-masque-nlg-ensemble"]
    assert all(not found.run.as_printed for found in summary.saved)


def test_without_material_it_is_told_how_to_make_it(work: Path) -> None:
    (work / "writer.safetensors").unlink()
    with pytest.raises(RunRefused, match=r"writer.safetensors is not there; `wherefrom train augment --out .*work`"):
        outcome("masque", "t3-masque", work)


TRAINED = """
[training.writer]
preset = "preast"
[training.writer.network]
embedding = 12
width = 16
heads = 2
inner = 24
shared_layers = 1
passage_layers = 1
question_layers = 1
decoder_layers = 1
classifier = "linear"
[training.writer.batch]
size = 6
quota = false
[training.writer.task]
valid_short = 2
valid_sentences = 2
longest = 4
[training.writer.loop]
steps = 2
precision = "fp32"
"""
TRANSFER = """
[training.writer]
preset = "transfer"
masque = "small.toml"
[training.writer.network]
embedding = 12
width = 16
heads = 2
inner = 24
shared_layers = 1
passage_layers = [1, 1]
question_layers = [1, 1]
answer_layers = [1, 1]
decoder_layers = 1
[training.writer.task]
reverse = 0.5
valid_sentences = 2
longest = 4
[training.writer.loop]
steps = 2
precision = "fp32"
"""
ROW = """
[[row]]
id = "{id}"
table = "T"
model = "{id}"
dataset = "D"
split = "NLG dev"
reported = {{ {reported} }}
ours = true
settings = "{id}.toml"
"""


def written(folder: Path, **settings: str) -> Path:
    place = folder / "small"
    (place / "settings").mkdir(parents=True)
    reported = {"transfer": "rouge_l = 1.0, exact = 1.0"}
    table = [
        ROW.format(id=name, reported=reported.get(name, "rouge_l = 1.0, map = 2.0, flipped = 2.0")) for name in settings
    ]
    (place / "table.toml").write_text(HEAD + "".join(table))
    for name, text in settings.items():
        (place / "settings" / f"{name}.toml").write_text(text)
    return place


def test_what_is_not_there_is_trained_once(work: Path, tmp_path: Path) -> None:
    (work / "common.json").write_text("[]")
    made = load(written(tmp_path / "papers", transfer=TRANSFER, small=TRAINED))

    def trained(device: str | None) -> dict[str, float]:
        run = WriterRows(made, work, tmp_path / "pretrained", device, lambda _: None, lambda name, at: at / name)
        return {row.id: run(row).metrics["rouge_l"] for row in made.rows}

    first = trained("cpu")
    weights = work / "small.small" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    assert trained(None) == first
    assert weights.stat().st_mtime_ns == before
    asked = {json.loads(each)["asked"] for each in (work / "small.small" / "said.jsonl").read_text().splitlines()}
    assert asked == {"short", "shuffled", "sentence", "short of sentence"}


def test_settings_that_are_not_there_are_a_fault_of_the_table(work: Path, tmp_path: Path) -> None:
    made = load(written(tmp_path / "papers", transfer=TRANSFER.replace("small.toml", "smal.toml"), small=TRAINED))
    (work / "common.json").write_text("[]")
    run = WriterRows(made, work, tmp_path / "pretrained", "cpu", lambda _: None, lambda name, at: at / name)
    with pytest.raises(TableFault, match=r"small/settings/smal.toml: there is no such file; did you mean small.toml\?"):
        run(made.row("transfer"))
    slip = load(written(tmp_path / "more", small=TRAINED.replace("decoder_layers", "decoder_layer")))
    with pytest.raises(
        TableFault, match=r"decoder_layer is not a setting; did you mean decoder_layers\? \(in small/set"
    ):
        WriterRows(slip, work)(slip.row("small"))


@pytest.mark.parametrize("slug", ["masque", "preast"])
def test_the_shipped_recipes_are_ones_that_can_be_trained(slug: str, work: Path) -> None:
    found = WriterRuns(paper(slug), Files(work, work), None, print)
    folders: set[str] = set()
    for row in paper(slug).rows:
        if row.recipe is None or row.recipe.planned:
            continue
        for run in found.of(row.recipe.file):
            assert isinstance(run.training.network, MasqueSettings | StyleTransferSettings)
            assert run.training.loop.steps in (700, 1200, 1400)
            if run.training.masque:
                found.of(run.training.masque)
            folders.add(run.folder.name.removeprefix(f"{slug}."))
    made = {
        "masque": {
            "nlg",
            "nlg-2",
            "nlg-3",
            "single-style",
            "single-style-rnn",
            "no-ranker",
            "no-classifier",
            "gold-ranker",
            "no-decoder",
            "nqa",
            "nqa-single-style",
        },
        "preast": {
            "preast",
            "masque",
            "masque-pair-max",
            "masque-selective",
            "masque-augmented",
            "preast-tied",
            "encoder-point-lin",
            "encoder-point-max",
            "encoder-pair-lin",
            "encoder-pair-max",
            "encoder-pair-max-no-p2p",
            "style-transfer",
            "style-transfer-one-fusion",
        },
    }
    later = {name for name in folders if name.endswith(("-lr3e4", "-bs88"))}
    assert folders - later == made[slug]
