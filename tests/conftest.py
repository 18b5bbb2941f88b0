"""What all tests stand on."""

from __future__ import annotations

import functools
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attack.private_postgres import NoPostgres, PrivatePostgres, private_postgres
from filelock import FileLock

from wherefrom.runtime import weights
from wherefrom.runtime.weights import SHIPPED, Weights

# A shell that runs tests in the background has its children ignore Ctrl-C, and theirs too; tests that press it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# The tests' networks are tiny, and pytest-xdist runs as many processes as there are cores: threads would only wait for
# each other. Set before torch is loaded; child processes have it too.
os.environ.setdefault("OMP_NUM_THREADS", "1")


# Benches come late: by then another process has made the networks that they share with other tests. Quick tests without
# a set-up come last: what is left at the end is shared out between processes, and a set-up would be made twice.
LATE = ("bench", "ingest", "data", "metrics")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        part = item.path.relative_to(tests).parts[0]
        return LATE.index(part) + 1 if part in LATE else 0

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def shipped_networks_loaded_once() -> Iterator[None]:
    """Loading a shipped network takes half a second, and hundreds of tests use one: each process loads it once.

    A loaded network keeps nothing of what it has read.
    """
    load = Weights.session

    @functools.cache
    def loaded(folder: Path, threads: int, name: str, _exact: bool) -> Any:
        return load(Weights(folder), threads, name)

    def session(self: Weights, threads: int, name: str = "model.onnx") -> Any:
        if self.folder.parent != SHIPPED:
            return load(self, threads, name)
        return loaded(self.folder, threads, name, weights.sums_eight_bits_exactly())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Weights, "session", session)
        yield


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Callable[..., Path]:
    """Makes a folder once for all processes of this run: `made_once("reader", make)` calls `make(folder)`.

    Only to be read from: all tests see the same one.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if hasattr(request.config, "workerinput") else own  # pytest-xdist: each process has a part

    def once(name: str, make: Callable[[Path], object]) -> Path:
        folder, done = shared / f"once-{name}", shared / f"once-{name}.done"
        with FileLock(shared / f"once-{name}.lock"):
            if not done.exists():
                make(folder)
                done.touch()
        return folder

    return once


@pytest.fixture(scope="session")
def tiny_reader_weights(made_once: Callable[..., Path]) -> Path:
    """A reader of random numbers, exported as a real one is; see `runtime/tiny_reader.py`."""
    pytest.importorskip("torch", reason="a small network is made with torch: pip install 'wherefrom[train]'")
    pytest.importorskip("onnxscript", reason="torch exports through onnxscript: pip install 'wherefrom[train]'")
    from runtime import tiny_reader

    return made_once("tiny-reader", tiny_reader.write)


@pytest.fixture(scope="session")
def tiny_network(made_once: Callable[..., Path]) -> Any:
    """A writer that has learnt one sentence, in torch; see `runtime/tiny_writer.py`."""
    torch = pytest.importorskip("torch", reason="a small network is trained with torch: pip install 'wherefrom[train]'")
    pytest.importorskip("onnxscript", reason="torch exports through onnxscript: pip install 'wherefrom[train]'")
    from runtime import tiny_writer

    def train(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        torch.save(tiny_writer.trained(), folder / "network.pt")

    return torch.load(made_once("tiny-network", train) / "network.pt", weights_only=False)


@pytest.fixture(scope="session")
def tiny_writer_weights(tiny_network: Any, made_once: Callable[..., Path]) -> Path:
    """The same, exported as a real one is."""
    from runtime import tiny_writer

    return made_once("tiny-writer", lambda folder: tiny_writer.write(folder, tiny_network))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PrivatePostgres]:
    """A PostgreSQL server of this process of tests; a test that kills it starts it again."""
    try:
        with private_postgres() as server:
            yield server
    except NoPostgres as missing:
        pytest.skip(str(missing))


@pytest.fixture
def database(postgres: PrivatePostgres) -> Iterator[str]:
    """The URL of an empty database: a schema, which is made in no time."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    postgres.execute(f"CREATE SCHEMA {schema}")
    yield postgres.url(schema=schema)
    postgres.execute(f"DROP SCHEMA {schema} CASCADE")
