"""Trainings run on a bare GPU machine: torch, numpy, safetensors, tokenizers, onnx and click are all it has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from systems.making import TinyReader

LACKING = ("tantivy", "msgspec", "tomli_w", "rich", "lxml", "pypdfium2", "docx", "Stemmer", "sqlite3")
CODE = """
import sys
from dataclasses import replace
from pathlib import Path
sys.modules |= dict.fromkeys(sys.argv[1].split(","))  # importing one of them is an error now
import torch
from systems.making import TinyReader
from train.tiny_inputs import present
from wherefrom.systems.asker import system as asker
from wherefrom.systems.asker.about import Inputs as AskerInputs
from wherefrom.systems.reader.about import Inputs
from wherefrom.train.stages import run

torch.set_num_threads(1)
folder, pretrained = Path(sys.argv[2]), Path(sys.argv[3])
reader = TinyReader(Inputs(data=folder / "not there", pretrained=pretrained), folder / "reader")
reader.make("teacher", "student")
defaults = asker.DEFAULTS
loop = replace(defaults.loop, steps=1, precision="fp32")
settings = replace(
    defaults,
    loop=loop,
    task=replace(defaults.task, max_tokens=92, tokens=2000, classify=1, separate=2),
    asking=replace(defaults.asking, shortest_passage=8, shortest=2, relevance=0.0, most=8),
)
given = AskerInputs(data=folder / "not there", material=reader.material, teacher=reader.teacher, start=reader.student,
                    pretrained=pretrained)
run("asker", asker.stages(settings, given, folder / "asker", print, present), folder / "asker")
"""


def test_readers_and_askers_are_trained_there(tiny_reader: TinyReader, tmp_path: Path) -> None:
    after_material = ("teacher", "student", "export", "weights", "fp32", "measure", "measured")
    there = tiny_reader.copied(tmp_path / "reader", *after_material)
    arguments = [",".join(LACKING), str(tmp_path), str(tiny_reader.inputs.pretrained)]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", CODE, *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert there.teacher.read_bytes() == tiny_reader.teacher.read_bytes()
    assert there.student.exists()
    assert (tmp_path / "asker" / "asked.safetensors").exists()
