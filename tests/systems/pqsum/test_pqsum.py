"""PQSUM-WSL-DS: its sets, supervision and choice by hand, and every ablation run over tiny networks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch
from safetensors.torch import save_file

from data.dataset_checks import json_lines
from runtime import tiny_pairs
from train.tiny_inputs import present, write_pretrained
from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.runtime.embedder import STEPS
from wherefrom.systems.bertsum.material import BEGIN, PADDING
from wherefrom.systems.bertsum.network import BertsumNetwork, BertsumSettings
from wherefrom.systems.bertsum.task import BertsumTaskSettings
from wherefrom.systems.contract import NotTrained, Wanted
from wherefrom.systems.pqsum import system
from wherefrom.systems.pqsum.about import Inputs
from wherefrom.systems.pqsum.choosing import chosen
from wherefrom.systems.pqsum.figures import figures, trivial
from wherefrom.systems.pqsum.sets import (
    DocumentSet,
    Role,
    cut,
    gathered,
    lead_and_body,
    pieces,
    read_sets,
    sampled,
    write_sets,
)
from wherefrom.systems.pqsum.settings import PqsumTraining, SetsSettings
from wherefrom.systems.pqsum.supervision import best, replaced, supervised
from wherefrom.train.settings import LoopSettings
from wherefrom.train.stages import read_json, run

# Documents.


def test_documents_are_whole_sentences_up_to_so_many_words() -> None:
    assert cut("One two. Three four. Five.\n\nSix seven eight nine ten.", 4) == [
        "One two. Three four.",
        "Five.",
        "Six seven eight nine ten.",
    ]
    assert cut(" \n", 4) == []


def test_the_lead_is_what_stands_before_the_first_heading() -> None:
    text = "Cats\n\nCats are small animals that sleep all day.\nLife.\nThey live in houses with people and dogs."
    assert lead_and_body("Cats", text) == (
        "Cats are small animals that sleep all day.",
        "They live in houses with people and dogs.",
    )


def set_of(source: str, role: Role, documents: int) -> DocumentSet:
    return DocumentSet(source, role, "Why?", tuple(f"{source} {number}." for number in range(documents)), ("So.",))


def test_as_many_documents_of_each_source_as_it_has() -> None:
    sets = [set_of("a", "train", 30), set_of("a", "valid", 9), set_of("b", "train", 2), set_of("c", "train", 40)]
    places = sampled(sets, "train", 22, seed=1)
    assert Counter(sets[at].source for at, _ in places) == {"a": 10, "b": 2, "c": 10}
    assert len(set(places)) == 22
    assert places == sorted(places) == sampled(sets, "train", 22, seed=1)
    assert places != sampled(sets, "train", 22, seed=2)
    assert len(sampled(sets, "train", 1000, seed=1)) == 72


def test_only_the_first_queries_may_be_measured_on(tmp_path: Path) -> None:
    data = write_data(tmp_path)
    roles = [each.role for each in gathered(data, SetsSettings(wikipedia=0, measured=1)) if each.source == "squality"]
    assert Counter(roles) == {"train": 5, "valid": 2, "test": 1}


def test_of_duc_one_year_is_measured_on_and_the_others_are_learnt_from(tmp_path: Path) -> None:
    for year, letter in (("2005", "a"), ("2006", "b"), ("2007", "c")):
        topics = "".join(
            f"<topic><num>D{number}{letter}</num><title>Cats</title><narr>Why?</narr></topic>" for number in range(5)
        )
        files = {f"duc{year}_topics.sgml": topics}
        for number in range(5):
            document = f"<DOC><DOCNO>{letter}{number}</DOCNO><TEXT>Cats sleep. They run.</TEXT></DOC>"
            files[f"D{number}{letter}/one"] = document
            files[f"models/D{number}.M.250.{letter.upper()}.A"] = "Cats sleep a lot."
        for name, content in files.items():
            (tmp_path / "duc" / year / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "duc" / year / name).write_text(content)
    sets = gathered(tmp_path, SetsSettings(tested="2006", document_words=2))
    assert Counter((each.source, each.role) for each in sets) == {
        ("duc-2005", "train"): 4, ("duc-2005", "valid"): 1, ("duc-2006", "test"): 5,
        ("duc-2007", "train"): 4, ("duc-2007", "valid"): 1,
    }  # fmt: skip
    assert (sets[0].query, sets[0].documents) == ("Cats\nWhy?", ("Cats sleep.", "They run."))
    assert sets[0].references == ("Cats sleep a lot.",)


def test_sets_are_read_as_they_were_written(tmp_path: Path) -> None:
    sets = [set_of("a", "train", 3), replace(set_of("a", "test", 3), query="Whé?")]
    write_sets(tmp_path / "sets.json.xz", sets)
    assert read_sets(tmp_path / "sets.json.xz") == sets


# Supervision and choice.


def test_the_best_sentences_stand_in_the_order_of_the_text() -> None:
    assert best(["a", "b", "c", "d"], [1.0, 3.0, 3.0, 2.0], 2) == ["b", "c"]
    assert best(["a", "b", "c", "d"], [2.0, 0.0, 0.0, 3.0], 3) == ["a", "b", "d"]


def test_a_gold_sentence_replaces_once_and_the_next_similar_one_follows() -> None:
    likeness = numpy.array([[0.9, 0.8, 0.1], [0.9, 0.2, 0.1], [0.9, 0.8, 0.1]], numpy.float32)
    assert replaced(["u", "v", "w"], ["x", "y", "z"], likeness) == ["x", "y", "z"]
    assert replaced(["u", "v", "w"], ["x"], likeness[:, :1]) == ["x"]
    assert replaced([], ["x"], numpy.zeros((0, 1), numpy.float32)) == []


def test_every_document_may_take_any_gold_sentence_of_its_own_set() -> None:
    cats = DocumentSet("a", "train", "Cats?", ("x", "y"), ("Cats sleep. Dogs run home.", "Birds sing."))
    other = DocumentSet("a", "train", "Trains?", ("z",), ("Trains sleep.",))
    weak = {(0, 0): ["The dogs were running home."], (0, 1): ["Dogs run.", "Dogs!"], (1, 0): ["Dogs run."]}

    class Embedder:
        """A number for each word that counts."""

        def vectors(self, texts: list[str]) -> numpy.ndarray:
            rows = [
                [float(word in text.lower()) for word in ("cats", "dogs", "run", "home", "birds")] for text in texts
            ]
            return (numpy.array(rows) * STEPS / 3).astype(numpy.int8)

    for embedder in (None, Embedder()):
        assert supervised([cats, other], weak, embedder) == {  # type: ignore[arg-type]
            (0, 0): ["Dogs run home."],
            (0, 1): ["Dogs run home.", "Cats sleep."],
            (1, 0): ["Trains sleep."],
        }


def test_sentences_that_share_three_words_are_passed_over() -> None:
    texts = ["Cats sleep all day.", "Do cats sleep all night?", "Dogs run home."]
    assert chosen(texts, [3.0, 2.0, 1.0], 100, trigram_block=True) == [texts[0], texts[2]]
    assert chosen(texts, [3.0, 2.0, 1.0], 100, trigram_block=False) == texts
    assert chosen(texts, [1.0, 2.0, 3.0], 100, trigram_block=True) == [texts[2], texts[1]]


def test_the_last_sentence_is_cut_where_the_words_end() -> None:
    texts = ["Cats sleep all day.", "Dogs run home.", "Never told."]
    assert chosen(texts, [2.0, 3.0, 1.0], 5, trigram_block=True) == ["Dogs run home.", "Cats sleep"]
    assert chosen(texts, [2.0, 3.0, 1.0], 3, trigram_block=True) == ["Dogs run home."]
    assert chosen([], [], 5, trigram_block=True) == []


def test_figures_by_hand() -> None:
    birds = "Birds sing at dawn."
    told = DocumentSet("a", "test", "Birds?", (f"Cats sleep all day. Birds! {birds}",), (birds,))
    sets = [told, replace(told, source="b")]
    by_source = figures(sets, [birds, "Birds sing"], trivial(sets, [4, 4], lambda _, __: None))
    assert by_source["a"]["sets"] == 1
    assert by_source["a"]["ours"]["rouge_1_f"] == by_source["a"]["most like the query"]["rouge_1_f"] == 1.0
    assert by_source["a"]["first sentences"]["rouge_1_f"] == 0.0
    assert (by_source["b"]["ours"]["rouge_1_r"], by_source["b"]["ours"]["rouge_1_p"]) == (0.5, 1.0)
    assert by_source["b"]["ours"]["rouge_l_f"] == pytest.approx(2 / 3)


# The whole of it, small.

ENCODER = EncoderSettings("bert", 150, 16, 1, 2, 32, 128, types=2)
NETWORK = BertsumSettings(ENCODER, decoder_layers=1, decoder_inner=16, sentence_layers=1, dropout=0.0)
GOLD = {"It is red.", "Trains met.", "A dog ran.", "It came home.", "Dogs run.", "The dog was lost."}


def tiny_settings(ranker: Path) -> PqsumTraining:
    loop = LoopSettings(steps=2, learning_rate=1e-3, metric="loss_valid", goal="min", evaluate_every=2)
    return PqsumTraining(
        words=6,
        meeting_words=4,
        similarity="words",
        ranker=str(ranker),
        sets=SetsSettings(document_words=12, wikipedia=0, documents=12, watched=4),
        network=NETWORK,
        task=BertsumTaskSettings(batch=4, document_tokens=128, summary_tokens=12, target_tokens=16, beam=2),
        loop=loop,
    )


def write_data(folder: Path) -> Path:
    def meeting(number: int) -> dict[str, object]:
        turns = [f"Turn {turn} of meeting {number} was long. It was red." for turn in range(4)]
        return {
            "topic_list": [{"topic": "colour", "relevant_text_span": [["0", "2"]]}],
            "general_query_list": [{"query": "Summarize it", "answer": "It is red. Trains met."}],
            "specific_query_list": [],
            "meeting_transcripts": [{"speaker": "A", "content": content} for content in turns],
            "meeting": f"M{number}",
        }

    json_lines(folder / "qmsum" / "train.jsonl", [meeting(number) for number in range(5)])
    json_lines(folder / "qmsum" / "val.jsonl", [meeting(9)])
    responses = [{"response_text": "A dog ran. It came home."}, {"response_text": "Dogs run. The dog was lost."}]
    asked = [{"question_text": "Who ran?", "responses": responses}]
    story = {"document": "A dog ran away from home. Nobody knew. " * 3, "questions": asked}
    json_lines(folder / "squality" / "train.jsonl", [story] * 10)
    return folder


def write_network(path: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    network = BertsumNetwork(NETWORK, BEGIN, PADDING)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    path.parent.mkdir(parents=True)
    save_file(network.state_dict(), path, {"about": json.dumps({"step": 0})})
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, made_once: Callable[..., Path]) -> tuple[PqsumTraining, Inputs]:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("pqsum")
    inputs = Inputs(
        data=write_data(folder / "data"),
        pretrained=write_pretrained(folder / "pretrained"),
        start=write_network(folder / "writer" / "model.safetensors", 3),
        extractor=write_network(folder / "extractor" / "model.safetensors", 1),
        sets=folder / "sets.json.xz",
        ranking=folder / "ranking.npz",
        baselines=folder / "baselines.json",
    )
    return tiny_settings(made_once("tiny-pairs", tiny_pairs.write)), inputs


def made(settings: PqsumTraining, inputs: Inputs, out: Path) -> list[str]:
    """All stages; gives what was said."""
    told: list[str] = []
    run("pqsum", system.stages(settings, inputs, out, told.append, present), out, None, told.append)
    return told


def written(path: Path) -> list[str]:
    return [text for _, _, texts in json.loads(path.read_text(encoding="utf-8")) for text in texts]


def test_the_whole_of_it(tiny: tuple[PqsumTraining, Inputs], tmp_path: Path) -> None:
    settings, inputs = tiny
    made(settings, inputs, tmp_path)
    assert inputs.sets is not None
    sets = read_sets(inputs.sets)
    assert Counter((each.source, each.role) for each in sets) == {
        ("qmsum", "train"): 4, ("qmsum", "valid"): 1, ("qmsum", "test"): 1,
        ("squality", "train"): 5, ("squality", "valid"): 2, ("squality", "test"): 3,
    }  # fmt: skip
    documents = {piece for each in sets for text in each.documents for piece in pieces(text)}
    assert set(written(tmp_path / "weak.json")) <= documents
    assert set(written(tmp_path / "references.json")) <= GOLD
    scores = read_json(tmp_path / "scores.json")
    assert set(scores["sources"]) == {"qmsum", "squality"}
    assert scores["sources"]["squality"]["sets"] == 3
    assert set(scores["sources"]["qmsum"]) == {
        "sets", "ours", "first sentences", "TextRank", "most like the query",
    }  # fmt: skip
    for each in scores["summaries"]:
        assert len(each["written"].split()) <= (4 if each["query"] == "Summarize it" else 6)
    assert made(settings, inputs, tmp_path)[-1] == "measure: already made"


def test_without_distant_supervision_the_weak_references_are_learnt(
    tiny: tuple[PqsumTraining, Inputs], tmp_path: Path
) -> None:
    settings, inputs = tiny
    for weak in ("bertsum_ext", "bertsum_abs"):
        out = tmp_path / weak
        made(replace(settings, weak=weak, distant=False), inputs, out)  # type: ignore[arg-type]
        assert (out / "weak.json").read_bytes() == (out / "references.json").read_bytes()
        assert (out / "tuning" / "model.safetensors").exists()


@pytest.mark.parametrize("weak", ["cete", "bertsum_ext", "bertsum_abs"])
def test_without_weak_supervision_nothing_is_learnt(
    tiny: tuple[PqsumTraining, Inputs], tmp_path: Path, weak: str
) -> None:
    settings, inputs = tiny
    made(replace(settings, weak=weak, wsl=False), inputs, tmp_path)  # type: ignore[arg-type]
    assert not (tmp_path / "tuning").exists()
    assert (tmp_path / "summaries.json").exists() == (weak != "cete")
    texts = [each["written"] for each in read_json(tmp_path / "scores.json")["summaries"]]
    own = " ".join(text for each in read_sets(inputs.sets or tmp_path) for text in each.documents)
    if weak == "bertsum_abs":
        assert any(text and text not in " ".join(own.split()) for text in texts)
    else:
        assert all(set(text.split()) <= set(own.split()) for text in texts)


def test_rows_share_a_training_that_differs_in_the_choice_alone(
    tiny: tuple[PqsumTraining, Inputs], tmp_path: Path
) -> None:
    settings, inputs = tiny
    wanted = Wanted("full", reported=("rouge_1_f", "rouge_su4_r"), dataset="DUC 2006", may_train=True)

    def measured(settings: PqsumTraining, wanted: Wanted) -> dict[str, float]:
        return dict(system.measure(settings, inputs, wanted, tmp_path, print, present).metrics)

    with pytest.raises(NotTrained, match="--train trains it"):
        measured(settings, replace(wanted, may_train=False))
    scores = measured(settings, wanted)
    measured(replace(settings, trigram_block=False), replace(wanted, name="unblocked", may_train=False))
    (folder,) = tmp_path.iterdir()
    ours = read_json(folder / "scores.json")["sources"]["squality"]["ours"]
    assert scores == {name: ours[name] for name in ("rouge_1_f", "rouge_su4_r")}
    assert (folder / "scores-unblocked.json").exists()
    for left_behind in ("tuning/model.safetensors", "weak.json", "references.json", "scores.json"):
        (folder / left_behind).unlink()
    assert measured(settings, replace(wanted, may_train=False)) == scores, "what was written is enough"
    with pytest.raises(NotTrained, match="has no wikipedia"):
        measured(settings, replace(wanted, dataset="DUC 2005, 2006 and 2007"))
    with pytest.raises(SettingsError, match="no set for DUC 2001"):
        measured(settings, replace(wanted, dataset="DUC 2001"))


def test_a_summariser_that_is_not_there_is_named(tiny: tuple[PqsumTraining, Inputs], tmp_path: Path) -> None:
    settings, inputs = tiny
    with pytest.raises(NotTrained, match=r"--extractor: .* is not there; `wherefrom train bertsum` makes it"):
        made(replace(settings, weak="bertsum_ext"), replace(inputs, extractor=tmp_path / "none"), tmp_path)


def test_settings_that_cannot_be_are_named() -> None:
    with pytest.raises(SettingsError, match="above 0"):
        PqsumTraining(weak_sentences=0)
    with pytest.raises(SettingsError, match="document_words"):
        SetsSettings(document_words=0)
