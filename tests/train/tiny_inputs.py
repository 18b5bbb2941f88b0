"""Datasets and pretrained encoders so small that a whole reader is made of them in seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from evaluate.small_data import write_ten_passage_sources
from runtime.tiny_reader import tokenizer
from wherefrom.networks.encoder import Encoder, EncoderSettings, published_names
from wherefrom.train.seeds import seed_everything

_BOTH = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}

SETTINGS = """
[teacher.loop]
epochs = 1
steps = 6
evaluate_every = 3
precision = "fp32"
report_every = 1
checkpoint_every = 1
[teacher.task]
max_tokens = 96
max_question = 40
tokens = 2000
classify = 1
separate = 2
[student.loop]
epochs = 1
steps = 6
evaluate_every = 3
precision = "fp32"
report_every = 1
checkpoint_every = 1
[student.task]
state_pairs = [[0, 0], [1, 1]]
max_tokens = 96
max_question = 40
tokens = 2000
classify = 1
separate = 2
[measure]
questions = 5
threads = 1
"""


def write_data(folder: Path) -> Path:
    """All datasets that the reader is made of."""
    write_ten_passage_sources(folder)
    gold = {"title": "B", "text": "The boat sails.", "isgold": True}
    nq = {"question": "who sails?", "answers": ["boat"], "ctxs": [gold]}
    quoref = {"input": "Passage: The lamp is here.\nQuestion: Who is here?", "target": ["lamp"]}
    head = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    for name, text in (
        ("nq_oracle/train.jsonl", json.dumps(nq) + "\n"),
        ("more_reading/quoref.jsonl", json.dumps(quoref) + "\n"),
        ("wikiqa/WikiQA-train.tsv", head + "Q1\twho is there\tD1\tSea\tD1-0\tThe tree grows.\t0\n"),
    ):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    return folder


def write_pretrained(folder: Path) -> Path:
    """`minilm` and `mpnet` as they are published, of a few thousand random numbers."""
    made = tokenizer()
    vocabulary = sorted(made.get_vocab(), key=made.get_vocab().__getitem__)
    bert = {
        "model_type": "bert",
        "vocab_size": len(vocabulary),
        "type_vocab_size": 2,
        "max_position_embeddings": 128,
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
    }
    moved = ["<s>", "<pad>", "</s>", "<unk>", *vocabulary, "<mask>"]
    mpnet = {
        "model_type": "mpnet",
        "vocab_size": len(moved),
        "max_position_embeddings": 130,
        "pad_token_id": 1,
        "relative_attention_num_buckets": 32,
    }
    _write_encoder(folder / "minilm", {**_BOTH, **bert}, vocabulary)
    _write_encoder(folder / "mpnet", {**_BOTH, **mpnet}, moved)
    return folder


def _write_encoder(folder: Path, config: dict[str, Any], vocabulary: list[str]) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    tokenizer().save(str(folder / "tokenizer.json"))
    seed_everything("tiny encoder")
    encoder = Encoder(EncoderSettings.from_config(folder / "config.json"))
    state = encoder.state_dict()
    tensors = {
        name: piece.clone()
        for ours, names in published_names(encoder.settings).items()
        for name, piece in zip(names, state[ours].chunk(len(names)), strict=True)
    }
    save_file(tensors, folder / "model.safetensors")


def present(name: str, folder: Path) -> Path:
    """Stands in for `pretrained.fetch`: the tiny encoders lie where the real ones would."""
    assert (folder / name / "model.safetensors").exists()
    return folder / name
