"""Where networks are only trained there is torch, numpy and safetensors, and nothing else that CETE or QASA import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which a plain install lacks: pip install 'wherefrom[train]'")

CODE = """
import sys
sys.modules |= dict.fromkeys(sys.argv[1].split(","))  # importing one of them is an error now
import wherefrom.systems.cete.system, wherefrom.systems.qasa.system
"""
LACKING = "tantivy,msgspec,tomli_w,rich,lxml,pypdfium2,docx,Stemmer,sqlite3,onnx,onnxruntime,tokenizers"


def test_both_systems_load_there() -> None:
    path = os.pathsep.join([str(Path(__file__).parents[3] / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", CODE, LACKING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
