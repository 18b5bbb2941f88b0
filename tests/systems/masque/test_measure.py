"""Rows of papers by Masque: trainings that were copied in, trainings that are not there, and ones made for real."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the material needs tokenizers")

import torch
from safetensors.torch import save_file

from papers.paper_files import HEAD
from train.letters import letters_tokenizer
from train.writing.towns import towns_material
from wherefrom.errors import WherefromError
from wherefrom.evaluate.texts import texts_beside
from wherefrom.evaluate.validation_answers import ValidationAnswer, read_answers, write_answers
from wherefrom.origin import file_hash
from wherefrom.papers.faults import RunRefused, TableFault
from wherefrom.papers.results import measured
from wherefrom.papers.runner import SystemRows, reproduce, resolved
from wherefrom.papers.table import Paper, load, paper
from wherefrom.systems.contract import Scores
from wherefrom.systems.masque import system
from wherefrom.systems.masque.about import Inputs
from wherefrom.train import pretrained
from wherefrom.train.stages import plain, run, write_json
from wherefrom.train.writing.material import save_synthetic

TOKENIZER = letters_tokenizer()
WORDS = TOKENIZER.get_vocab_size()
RIGHT, WRONG = {112: "town 112 has 1127 bridges.", 116: "town 116 has 1167 bridges."}, "people walk in the river."


def answer(
    request: str, example: int, text: str | None, chance: float = 0.9, right_first: bool = True
) -> ValidationAnswer:
    tokens = None if text is None else tuple(TOKENIZER.encode(text).ids)
    scores = (0.7, 0.1) if right_first else (0.1, 0.7)
    return ValidationAnswer(
        example, request, tokens, tokens, text is not None, chance, scores, (text is not None, False)
    )


ANSWERS = [
    answer("short", 112, "1127"),
    answer("short", 113, "9", 0.3, right_first=False),
    answer("short", 111, None, 0.2),
    answer("sentence", 112, RIGHT[112]),
    answer("sentence", 116, WRONG),
    answer("short of sentence", 112, "1127"),
    answer("short of sentence", 116, "1167"),
]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what `wherefrom train writer --until augment` makes, and an encoder where one is looked for."""
    writer, minilm = tmp_path / "work" / "writer", tmp_path / "work" / "masque" / "pretrained" / "minilm"
    (writer / "material").mkdir(parents=True)
    towns_material(writer / "material")
    (writer / "common.json").write_text("[]")
    save_synthetic(writer / "synthetic.safetensors", [1, 2, 5], [[10, 11], [10], [12]])
    minilm.mkdir(parents=True)
    TOKENIZER.save(str(minilm / "tokenizer.json"))
    save_file({"embeddings.word_embeddings.weight": torch.randn(WORDS, 16)}, minilm / "model.safetensors")
    hashes = {file.name: file_hash(file) for file in minilm.iterdir()}
    monkeypatch.setitem(pretrained.INPUTS, "minilm", replace(pretrained.MINILM, sha256=hashes))  # type: ignore[arg-type]
    return tmp_path / "work"


def rows(source: str | Paper, work: Path, may_train: bool = False) -> SystemRows:
    return SystemRows(paper(source) if isinstance(source, str) else source, {}, work, lambda _: None, may_train)


def scores(slug: str, row_id: str, work: Path) -> Scores:
    return rows(slug, work)(paper(slug).row(row_id))


def copied_in(
    work: Path, slug: str, file: str, answers: Iterable[ValidationAnswer] = ANSWERS, seed: int | None = None
) -> Path:
    """A training of a settings file, as a machine with a GPU would have left it, without its weights."""
    found = paper(slug)
    settings = resolved(found, file)
    settings = settings.with_seed(seed or settings.loop.seed)
    start = found.recipes[file].uses.get("start")
    name = f"{Path(file).stem}-{settings.fingerprint(resolved(found, start) if start else None)}"
    folder = work / "masque" / name
    inputs = Inputs(work / "writer", work / "masque" / "pretrained")
    stage = {each.name: each for each in system.stages(settings, inputs, folder, print)}["answers"]
    for part in ("made", "training"):
        (folder / part).mkdir(parents=True)
    write_json(folder / "made" / "answers.json", {"made_of": plain(stage.made_of())})
    write_json(folder / "training" / "provenance.json", {"finished": True})
    write_answers(folder / "answers.jsonl", answers)
    return folder


def test_every_measure_of_a_row_is_taken_from_the_answers(work: Path) -> None:
    copied_in(work, "preast", "preast.toml")
    result = scores("preast", "ta-1-preast", work)
    assert set(result.metrics) == set(paper("preast").row("ta-1-preast").reported)
    assert 0.5 < result.metrics["rouge_l"] < 0.75  # one sentence of two is right
    assert result.metrics["qa_rouge_l"] == pytest.approx(0.5)
    assert result.metrics["map"] == result.metrics["mrr"] == pytest.approx(0.75)  # first, and second
    assert (result.metrics["answerable_f1"], result.metrics["threshold"]) == (1.0, 0.3)
    assert result.seed == 1
    assert [path.name for path in result.files] == [
        "writer.safetensors",
        "writer.texts.jsonl.gz",
        "synthetic.safetensors",
        "provenance.json",
        "answers.jsonl",
    ]
    assert scores("preast", "s5-2-2-zero-overlap-preast", work).metrics == {"zero_overlap": 0.5}


def test_rows_of_a_group_count_its_questions_alone(work: Path) -> None:
    copied_in(work, "preast", "masque.toml")
    overall = scores("preast", "t5-4-all-overall", work).metrics["rouge_l"]
    assert scores("preast", "t5-4-all-keyword-how", work).metrics["rouge_l"] == pytest.approx(overall)
    assert scores("preast", "t5-4-all-type-numeric", work).metrics["rouge_l"] == pytest.approx(overall)
    with pytest.raises(WherefromError, match=r"none of the 2 questions that were asked is of the group 'type Person'"):
        scores("preast", "t5-4-all-type-person", work)


def test_either_style_is_scored_against_either_task(work: Path) -> None:
    copied_in(work, "masque", "nlg.toml")
    rouge = {
        row: scores("masque", row, work).metrics["rouge_l"]
        for row in ("t2-nlg-masque-nlg", "t2-qa-masque-nlg", "t2-nlg-masque-qa", "t2-qa-masque-qa", "t3-masque")
    }
    assert rouge["t3-masque"] == rouge["t2-nlg-masque-nlg"] > 0.5
    assert rouge["t2-qa-masque-qa"] == pytest.approx(0.5)  # 1127 is right, 9 is not
    assert 0 < rouge["t2-qa-masque-nlg"] < 0.3  # one word in five of one sentence
    assert 0 < rouge["t2-nlg-masque-qa"] < 0.6  # both are right, and one word of six


def test_an_ensemble_votes(work: Path) -> None:
    copied_in(work, "masque", "nlg.toml")
    for seed in (2, 3):
        right = [answer("sentence", example, RIGHT[example]) for example in (112, 116)]
        copied_in(work, "masque", "nlg.toml", right, seed)
    result = scores("masque", "t2-nlg-masque-nlg-ensemble", work)
    assert result.metrics["rouge_l"] == pytest.approx(1.0)
    assert len(result.files) == 2 + 3 * 2
    assert scores("masque", "t3-masque", work).metrics["rouge_l"] < 0.8


def test_style_transfer_is_given_the_answer(work: Path) -> None:
    given = [answer("given", 112, RIGHT[112]), answer("given", 116, WRONG), answer("reverse", 112, "1127")]
    copied_in(work, "preast", "style-transfer.toml", given)
    worse = [answer("given", 112, WRONG), answer("given", 116, WRONG)]
    copied_in(work, "preast", "style-transfer-one-fusion.toml", worse)
    whole = scores("preast", "s5-2-1-style-transfer", work).metrics
    assert whole["exact"] == 0.5
    assert 0.5 <= whole["bleu_1"] < 1
    change = scores("preast", "s5-2-1-one-fusion", work).metrics["rouge_l_change"]
    assert -0.5 <= change < -0.3


def test_shares_are_those_of_the_synthetic_sentences(work: Path) -> None:
    shares = {
        name: scores("preast", f"t5-4-share-{name}", work).metrics["group_share"]
        for name in ("type-description", "type-numeric", "keyword-how", "keyword-why")
    }  # towns 1 and 5 are asked how they are made
    assert shares["type-description"] == pytest.approx(2 / 3)
    assert shares["type-numeric"] == pytest.approx(1 / 3)
    assert (shares["keyword-how"], shares["keyword-why"]) == (1.0, 0.0)


def test_stories_are_scored_by_their_own_measures(work: Path) -> None:
    texts = texts_beside(work / "writer" / "material" / "writer.safetensors")
    with gzip.open(texts, "rt") as file:
        lines = [json.loads(each) for each in file]
    story = next(each for each in lines if each["source"] == "narrativeqa")
    story["valid"] = True
    with gzip.open(texts, "wt") as file:
        file.writelines(json.dumps(each) + "\n" for each in lines)
    written = [("narrative", "the gold"), ("narrative in sentences", "the")]
    copied_in(work, "masque", "nqa.toml", [answer(request, story["example"], text) for request, text in written])
    metrics = scores("masque", "t5-masque-nqa", work).metrics
    assert (metrics["rouge_l"], metrics["bleu_1"]) == (pytest.approx(1.0), pytest.approx(1.0))
    assert metrics["meteor"] == pytest.approx(1 - 0.5 / 8)  # two words in one chunk
    assert set(metrics) == {"bleu_1", "bleu_4", "meteor", "rouge_l"}
    in_sentences = scores("masque", "t5-masque-nlg", work).metrics  # the same training, asked in another style
    assert 0 < in_sentences["rouge_l"] < 1
    assert set(in_sentences) == set(metrics)


def test_shuffled_passages_flip_a_linear_classifier(work: Path) -> None:
    shuffled = [answer("shuffled", 112, "1127", 0.4), answer("shuffled", 111, None, 0.2)]
    copied_in(work, "preast", "masque-bs88.toml", [*ANSWERS, *shuffled])
    assert scores("preast", "s1-flipped-masque", work).metrics == {"flipped": 0.5}


@pytest.mark.parametrize(
    ("row_id", "answers", "message"),
    [
        ("t3-masque", ANSWERS[:3], "has nothing that was asked for as 'sentence'"),
        ("f4-masque", ANSWERS[:2], "answerable_f1 cannot be measured"),
        ("t3-masque", [answer("sentence", 3, "x")], "answers example 3, which the material's texts do not have"),
    ],
)
def test_what_was_not_answered_cannot_be_measured(
    work: Path, row_id: str, answers: list[ValidationAnswer], message: str
) -> None:
    copied_in(work, "masque", "nlg.toml", answers)
    with pytest.raises(WherefromError, match=message):
        scores("masque", row_id, work)


def test_a_training_of_other_settings_or_material_is_not_taken(work: Path) -> None:
    other, own = copied_in(work, "preast", "masque-pair-max.toml"), copied_in(work, "preast", "masque.toml")
    (own / "made").rename(own / "elsewhere")
    (other / "made").rename(own / "made")  # the folder of one, filled with the other
    with pytest.raises(RunRefused, match="holds no answers of these settings"):
        scores("preast", "t5-4-all-overall", work)
    copied_in(work, "preast", "preast.toml")
    save_synthetic(work / "writer" / "synthetic.safetensors", [1], [[10]])
    with pytest.raises(RunRefused, match="and this material"):
        scores("preast", "t5-5-preast", work)


def test_rows_without_a_training_are_refused_and_the_others_measured(work: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(RunRefused, match=r"nlg-.* holds no answers .*; --train trains it, for 700 steps"):
        reproduce(paper("masque"), None, runs, rows("masque", work))
    copied_in(work, "masque", "nlg.toml")
    summary = reproduce(paper("masque"), None, runs, rows("masque", work))
    saved = {result.row_id for result in summary.saved}
    assert {"t2-qa-masque-qa", "t3-masque", "t4-masque", "f4-masque"} <= saved
    assert {result.row_id for result in measured(runs, [paper("masque")])} == saved
    refused = {refusal.row.id: refusal.reason for refusal in summary.refused}
    assert "holds no answers" in refused["t5-masque-nlg"]
    assert "holds no answers" in refused["t2-nlg-masque-nlg-ensemble"]
    assert all(not result.run.as_printed for result in summary.saved)


def test_without_material_it_is_said_how_to_make_it(work: Path) -> None:
    (work / "writer" / "material" / "writer.safetensors").unlink()
    with pytest.raises(RunRefused, match=r"writer.safetensors is not there; `wherefrom train writer --until augment "):
        scores("masque", "t3-masque", work)


SMALL = f"""
system = "masque"
[settings]
network = "preast"
[settings.preast]
embedding = 12
width = 16
heads = 2
inner = 24
shared_layers = 1
passage_layers = 1
question_layers = 1
decoder_layers = 1
classifier = "linear"
words = {{ words = {WORDS} }}
[settings.task]
valid_short = 2
valid_sentences = 2
longest = 4
[settings.task.batch]
size = 6
quota = []
[settings.loop]
steps = 2
evaluate_every = 2
precision = "fp32"
"""
TRANSFER = f"""
base = "small.toml"
[settings]
network = "transfer"
[settings.transfer]
embedding = 12
width = 16
heads = 2
inner = 24
shared_layers = 1
passage_layers = [1, 1]
question_layers = [1, 1]
answer_layers = [1, 1]
decoder_layers = 1
words = {{ words = {WORDS} }}
[settings.transfer_task]
reverse = 0.5
valid_sentences = 2
longest = 4
[uses]
start = "small.toml"
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


def written(folder: Path, **settings: str) -> Paper:
    place = folder / "small"
    (place / "settings").mkdir(parents=True)
    reported = {"transfer": "rouge_l = 1.0, exact = 1.0"}
    table = [
        ROW.format(id=name, reported=reported.get(name, "rouge_l = 1.0, map = 2.0, flipped = 2.0")) for name in settings
    ]
    (place / "table.toml").write_text(HEAD + "".join(table))
    for name, text in settings.items():
        (place / "settings" / f"{name}.toml").write_text(text)
    return load(place)


def test_what_is_not_there_is_trained_once_and_reported(work: Path, tmp_path: Path) -> None:
    """Style transfer first: what it starts from is trained on the way, and then found by its own row."""
    torch.set_num_threads(1)
    made = written(tmp_path / "papers", transfer=TRANSFER, small=SMALL)
    first = {row.id: rows(made, work, may_train=True)(row).metrics["rouge_l"] for row in made.rows}
    folders = {path.name.rpartition("-")[0]: path for path in (work / "masque").iterdir() if path.name != "pretrained"}
    assert set(folders) == {"transfer", "start"}
    weights = folders["start"] / "training" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    assert {row.id: rows(made, work)(row).metrics["rouge_l"] for row in made.rows} == first
    assert weights.stat().st_mtime_ns == before
    requests = {each.request for each in read_answers(folders["start"] / "answers.jsonl")}
    assert requests == {"short", "shuffled", "sentence", "short of sentence"}

    settings = resolved(made, "transfer.toml")
    inputs = Inputs(work / "writer", work / "masque" / "pretrained", weights, against=folders["transfer"])
    lines: list[str] = []
    folder = folders["transfer"]
    stages = system.stages(settings, inputs, folder, lines.append)
    run("masque", stages, folder, say=lines.append)
    assert lines[:2] == ["training: already made", "answers: already made"]
    report = json.loads((folder / "scores.json").read_text())
    assert set(report) == {"given", "reverse", "against"}
    assert report["against"]["given"]["rouge_l"]["interval"] == [0, 0]  # against itself
    run("masque", stages, folder, ("augment",), lines.append)
    assert (folder / "synthetic.safetensors").exists()
    assert not any(line.startswith("augment") and "already" in line for line in lines)


def test_settings_that_are_not_there_are_a_fault_of_the_table(work: Path, tmp_path: Path) -> None:
    made = written(tmp_path / "papers", transfer=TRANSFER.replace('start = "small', 'start = "smal'), small=SMALL)
    with pytest.raises(TableFault, match=r"small/settings/smal.toml: there is no such file; did you mean small.toml\?"):
        rows(made, work)(made.row("transfer"))
    slip = written(tmp_path / "more", small=SMALL.replace("decoder_layers", "decoder_layer"))
    with pytest.raises(
        TableFault, match=r"preast.decoder_layer is not a setting; did you mean preast.decoder_layers\?"
    ):
        rows(slip, work)(slip.row("small"))
    unknown = written(tmp_path / "again", small=f'measure = "haiku"\n{SMALL}')
    with pytest.raises(WherefromError, match="measure is one of sentence, short, "):
        rows(unknown, work, may_train=True)(unknown.row("small"))
    assert {path.name for path in (work / "masque").iterdir()} == {"pretrained"}  # nothing was trained for it
