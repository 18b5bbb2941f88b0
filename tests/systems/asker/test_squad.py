"""Asked questions in SQuAD's format: whose paragraph they are about, how they are written, which are left out."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")
pytest.importorskip("tokenizers", reason="the reader's material needs tokenizers: pip install 'wherefrom[train]'")

import numpy
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from wherefrom.data import squad
from wherefrom.data.examples import whole
from wherefrom.systems.asker.asking import AskedQuestion, extended
from wherefrom.systems.asker.squad import write
from wherefrom.systems.reader.material import MaterialBuilder
from wherefrom.train.material import Material

TEXT = (
    "Normans came first. In the U.S. the singer Beyoncé sang at St. Louis for $3.5 million (the most-watched show) "
    "and the people's Jury of Noël's cafés saw it. She won; a jury did not see NASA."
)
LONG = "Many bridges. " + "word " * 600 + "Zürich ends it."
OTHER = "Nothing of this is in the dataset."


def tokenizer() -> Tokenizer:
    """Wordpieces of single letters, and of a few words."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    known = [
        "[PAD]",
        "[CLS]",
        "[SEP]",
        "[UNK]",
        *letters,
        *(f"##{letter}" for letter in letters),
        *".,;?'\"$()-",
        "word",
    ]
    made = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(known)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    return made


def encoded(text: str) -> list[int]:
    ids: list[int] = tokenizer().encode(text, add_special_tokens=False).ids
    return ids


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """SQuAD with two paragraphs, and a material of its questions."""
    (tmp_path / "data" / "squad").mkdir(parents=True)
    asks = [[("q1", "Who sang?", "Beyoncé")], [("q2", "What ends it?", "Zürich"), ("q3", "How many?", "Many")]]
    articles = [
        {
            "title": title,
            "paragraphs": [
                {
                    "context": text,
                    "qas": [
                        {
                            "id": id,
                            "question": question,
                            "answers": [{"text": found, "answer_start": text.index(found)}],
                        }
                        for id, question, found in some
                    ],
                }
            ],
        }
        for title, text, some in zip(("A_1", "B"), (TEXT, LONG), asks, strict=True)
    ]
    (tmp_path / "data" / "squad" / "train-v1.1.json").write_text(json.dumps({"data": articles}))
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    collected = MaterialBuilder(tokenizer())
    for example in squad.load(tmp_path / "data" / "squad", "train"):
        passage, span = example.passages[0], example.spans[0]
        others = [whole("other", OTHER)]
        collected.add("squad", example.question.text, passage, [(span.start, span.end)], others, valid=False)
    collected.write(tmp_path / "material.safetensors", {})
    return tmp_path, tmp_path / "material.safetensors"


def span_of(tokens: list[int], answer: str) -> tuple[int, int]:
    wanted = encoded(answer)
    first = next(place for place in range(len(tokens)) if tokens[place : place + len(wanted)] == wanted)
    return first, first + len(wanted) - 1


def test_questions_about_training_paragraphs_are_written_with_their_answers(places: tuple[Path, Path]) -> None:
    folder, file = places
    material = Material(file)
    starts, golds = material.column("passage_starts"), material.column("gold")
    texts = [material.column("passage_tokens")[a:b].tolist() for a, b in pairwise(starts)]
    assert len(texts[golds[1]]) == 480  # a long paragraph is cut
    assert golds[1] != golds[2]  # in two ways
    other = material.others(0)[0]
    asked = [
        (golds[0], 0, "Where did Beyonce sing?", "St. Louis"),
        (golds[0], 0, "where did beyonce sing ?", "Louis"),  # again
        (golds[0], 0, "Who sang?", "Beyonce"),  # SQuAD asks it
        (golds[1], 1, "Which city is last?", "Zurich"),
        (golds[2], 2, "Of what are there many?", "bridges"),
        (other, 0, "What is in the dataset?", "Nothing"),  # about no paragraph of SQuAD's
        (golds[0], 0, "What did not see NASA?", "a jury"),
    ]
    kept = [
        AskedQuestion(int(passage), example, numpy.array(encoded(question)), *span_of(texts[passage], answer))
        for passage, example, question, answer in asked
    ]
    save_file(extended(material, kept, 4), folder / "asked.safetensors")
    said: list[str] = []
    arguments = (folder / "asked.safetensors", folder / "data", folder / "tokenizer.json", folder / "out.json")
    assert write(*arguments, said.append) == {"questions": 4, "paragraphs": 2}
    assert said == ["6 questions about 2 paragraphs"]
    found = list(squad.load(folder / "out.json", "train"))
    assert [(one.question.id, one.article, one.question.text, one.answers) for one in found] == [
        ("asked-1", "A_1", "Where did Beyoncé sing?", ("St. Louis",)),
        ("asked-2", "A_1", "What did not see NASA?", ("a jury",)),
        ("asked-3", "B", "Of what are there many?", ("bridges",)),
        ("asked-4", "B", "Which city is last?", ("Zürich",)),
    ]
    assert {one.passages[0].text for one in found} == {TEXT, LONG}
    before = (folder / "out.json").read_bytes()
    write(*arguments)
    assert (folder / "out.json").read_bytes() == before
    passages = [{"passage_text": text, "url": url} for text, url in ((TEXT, "A_1#0#0"), (OTHER, "Other#3#1"))]
    with gzip.open(folder / "train.jsonl.gz", "wt", encoding="utf-8") as rows:
        rows.write(json.dumps({"passages": passages}) + "\n")
    write(*arguments, ten_passages=folder)
    more = list(squad.load(folder / "out.json", "train"))
    assert [(one.article, one.answers) for one in more[:-1]] == [(one.article, one.answers) for one in found]
    assert (more[-1].article, more[-1].question.text, more[-1].passages[0].text) == (
        "Other",
        "What is in the dataset?",
        OTHER,
    )
