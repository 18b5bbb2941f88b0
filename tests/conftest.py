"""What all tests stand on."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

# A shell that runs tests in the background has its children ignore Ctrl-C, and theirs too; tests that press it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def tiny_network() -> Any:
    """A writer that has learnt one sentence, in torch; see `runtime/tiny_writer.py`."""
    pytest.importorskip("torch", reason="a small network is trained with torch: pip install 'wherefrom[train]'")
    pytest.importorskip("onnxscript", reason="torch exports through onnxscript: pip install 'wherefrom[train]'")
    from runtime import tiny_writer

    return tiny_writer.trained()


@pytest.fixture(scope="session")
def tiny_writer_weights(tiny_network: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, exported as a real one is."""
    from runtime import tiny_writer

    return tiny_writer.write(tmp_path_factory.mktemp("weights") / "writer", tiny_network)
