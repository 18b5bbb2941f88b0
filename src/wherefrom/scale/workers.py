"""Workers that Ray starts, and work handed to them through Ray Data: in order, and no more at a time than fits."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from wherefrom.errors import SettingsError, WherefromError

if TYPE_CHECKING:
    import pyarrow as pa

_PIECE_BYTES = 1_000_000  # of results that a worker hands over at a time
_BLOCK_BYTES = 8_000_000  # ... and that Ray keeps together
_MOST_BLOCKS = 1_000  # that the work is cut into; each costs Ray some milliseconds
_STORE_BYTES = 256_000_000  # for results that wait, and as much again for each worker; then workers wait
_MARK = "the worker says: "  # before what is for people, among what Ray makes of an error
_WAITING = 2  # blocks of work that lie ready for a worker


class Work(Protocol):
    """What one worker does; it is made in the worker's process, once, and kept."""

    def __call__(self, item: bytes) -> Iterable[bytes]: ...


def need() -> None:
    """Say what to install, where Ray is missing."""
    if find_spec("ray") is None or find_spec("pyarrow") is None:
        raise WherefromError(
            "several workers need Ray, which a plain install leaves out; install 'wherefrom[scale]', or leave "
            "--workers out"
        )


@contextmanager
def cluster(workers: int, address: str = "") -> Iterator[None]:
    """Workers of this machine for as long as the `with` lasts; with an address, those of a cluster that is running."""
    need()
    if workers < 1:
        raise SettingsError(f"there must be at least one worker, not {workers}")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what goes wrong comes as an error, too
    os.environ.setdefault("RAY_worker_niceness", "0")  # with Ray's 15 they get nothing beside other work
    import ray

    ours = not ray.is_initialized()
    if ours:
        quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
        try:
            if address:
                ray.init(address=address, **quiet)
            else:
                memory = _STORE_BYTES * (workers + 1)
                ray.init(num_cpus=workers, include_dashboard=False, object_store_memory=memory, **quiet)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = f"no cluster answers at {address}" if address else "the workers cannot be started"
            raise WherefromError(f"{where}: {_reason(error)}") from error
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def mapped(
    make: Callable[..., Work], arguments: tuple[Any, ...], items: Sequence[bytes], workers: int
) -> Iterator[tuple[int, bytes]]:
    """What the workers make of each item, as (number of the item, result), in the order of the items.

    Results come while work goes on; where nobody takes them, the workers wait. A worker that dies is replaced, and
    what it had in hand is done again.
    """
    if not items:
        return
    import ray
    from ray.data import ActorPoolStrategy, DataContext

    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.target_max_block_size = _BLOCK_BYTES
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # what matters comes as an error
    pool = ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=_WAITING)
    rows = [{"number": number, "item": item} for number, item in enumerate(items)]
    data = ray.data.from_items(rows, override_num_blocks=min(len(rows), _MOST_BLOCKS)).map_batches(
        _Caller,
        fn_constructor_args=(make, arguments),
        batch_size=1,
        batch_format="pyarrow",
        zero_copy_batch=True,
        compute=pool,
        num_cpus=1,
    )
    try:
        for table in data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
            yield from zip(table["number"].to_pylist(), table["result"].to_pylist(), strict=True)
    except ray.exceptions.RayError as error:
        raise WherefromError(
            f"the workers gave up: {_reason(error)}; what was acknowledged is kept, run it again to go on"
        ) from error


class _Caller:
    """A worker's end: Ray hands it a table of one item at a time."""

    def __init__(self, make: Callable[..., Work], arguments: tuple[Any, ...]) -> None:
        self._work = make(*arguments)

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        for number, item in zip(table["number"].to_pylist(), table["item"].to_pylist(), strict=True):
            try:
                yield from self._tables(number, item)
            except WherefromError as error:  # not all of ours can be sent, and Ray writes much around what is
                raise RuntimeError(f"{_MARK}{error}") from None

    def _tables(self, number: int, item: bytes) -> Iterator[pa.Table]:
        waiting: list[bytes] = []
        size = 0
        for result in self._work(item):
            waiting.append(result)
            size += len(result)
            if size >= _PIECE_BYTES:
                yield _table(number, waiting)
                waiting, size = [], 0
        yield _table(number, waiting)


def _table(number: int, results: Sequence[bytes]) -> pa.Table:
    import pyarrow as pa

    numbers = pa.array([number] * len(results), pa.int64())
    return pa.table({"number": numbers, "result": pa.array(results, pa.large_binary())})


def _reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line.partition(_MARK)[2] for line in lines if _MARK in line]
    return [type(error).__name__, *lines, *ours][-1]
