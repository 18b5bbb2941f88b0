"""Work by many workers: the same library, predictions and hits as by one process, whatever happens to a worker."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import Settings, resolve
from wherefrom.errors import LibraryError, SettingsError, WherefromError

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'wherefrom[scale]'")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]  # Ray warns of itself, and starts slowly


@pytest.fixture(scope="module")
def two_workers() -> Iterator[None]:
    from wherefrom.scale.workers import cluster

    with cluster(2):
        yield


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Twelve files that can be read, and three that cannot, or not wholly."""
    folder = tmp_path / "files"
    folder.mkdir()
    chance = random.Random(3)
    for number in range(10):
        sentences = [
            f"The {chance.choice('mill bridge gate'.split())} number {n} of {number} is old." for n in range(60)
        ]
        (folder / f"note-{number}.txt").write_text(" ".join(sentences))
    lines = [
        json.dumps({"id": f"row-{number}", "text": f"Row {number} tells of a lighthouse."}) for number in range(30)
    ]
    (folder / "rows.jsonl").write_text("\n".join([*lines[:20], "no JSON", *lines[20:]]))
    (folder / "page.html").write_text("<title>Gate</title><p>The gate opens at nine.</p>")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and nothing more")
    (folder / "empty.txt").write_text("")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    return folder


def _contents(library: Library) -> dict[str, tuple[str, list[tuple[int, int]]]]:
    return {
        facts.id: (
            library.document(facts.id).text,
            [(passage.start, passage.end) for passage in library.passages_of(facts.id)],
        )
        for facts in library.documents()
    }


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_workers_make_the_library_that_one_process_makes(tmp_path: Path, files: Path) -> None:
    from wherefrom.scale.ingest import ingest

    with Library(tmp_path / "one") as one, Library(tmp_path / "several") as several:
        expected = one.ingest([files])
        report = ingest(several, [files], workers=2)
        assert _contents(several) == _contents(one)
        assert len(_contents(several)) == 41
        assert report.failures == expected.failures
        assert {Path(failure.name).name for failure in report.failures} == {"broken.pdf", "empty.txt", "rows.jsonl:21"}
        assert (report.added, report.passed_over) == (expected.added, expected.passed_over)
        assert several.check(repair=False).sound
        question = "When does the gate open?"
        assert several.search(question).hits[0].passage == one.search(question).hits[0].passage

        (files / "note-3.txt").write_text("Another text altogether.")
        again = ingest(several, [files], workers=2)
        assert (again.added, again.replaced) == (0, 1)
        assert again.unchanged == one.ingest([files]).unchanged
        assert _contents(several) == _contents(one)


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_a_worker_that_dies_loses_nothing(tmp_path: Path, files: Path) -> None:
    import psutil

    from wherefrom.scale.ingest import ingest

    killed: list[int] = []

    def kill(_ids: Sequence[str]) -> None:
        if not killed:
            processes = psutil.Process().children(recursive=True)
            workers = [process.pid for process in processes if "MapWorker" in " ".join(process.cmdline())]
            killed.append(workers[0])
            os.kill(workers[0], signal.SIGKILL)

    for number in range(10, 60):
        (files / f"note-{number}.txt").write_text(f"Lighthouse {number} is painted red. " * 400)
    settings = resolve(None, ("ingest.batch_passages=50",))
    with Library(tmp_path / "library", settings) as library:
        report = ingest(library, [files], workers=2, acknowledged=kill)
        assert killed
        assert report.added == 91
        assert len(_contents(library)) == 91
        assert library.check(repair=False).sound


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_an_interrupted_ingest_goes_on_where_it_was(tmp_path: Path, files: Path) -> None:
    from wherefrom.scale.ingest import ingest

    safe: list[str] = []

    def interrupt(ids: Sequence[str]) -> None:
        safe.extend(ids)
        raise KeyboardInterrupt

    with Library(tmp_path / "library", resolve(None, ("ingest.batch_passages=5",))) as library:
        with pytest.raises(KeyboardInterrupt):
            ingest(library, [files], workers=2, acknowledged=interrupt)
        assert set(_contents(library)) == set(safe)
        report = ingest(library, [files], workers=2)
        assert report.added == 41 - len(safe)
        assert len(_contents(library)) == 41


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_workers_predict_what_one_process_predicts(tmp_path: Path) -> None:
    from wherefrom.build import build
    from wherefrom.data.examples import Example
    from wherefrom.evaluate.predict import PredictionRun, predict, read_traces
    from wherefrom.scale.predict import over_workers
    from wherefrom.types import Passage, Question

    settings = resolve(None, ("read.kind=sentence", "rank.kind=none", "judge.kind=lexical", "write.kind=verbatim"))
    text = "The lighthouse number {0} was painted by keeper {0}. It stands on a rock."
    examples = [
        Example(
            Question(str(number), f"Who painted lighthouse number {number}?"),
            passages=(Passage(f"p{number}#0", f"p{number}", text.format(number), 0, len(text.format(number))),),
        )
        for number in range(70)
    ]
    run = PredictionRun("made", "made", "", "given", "short", 0.0, None, {})
    predict(examples, build(settings, None), run, tmp_path / "one.jsonl")
    over = over_workers(settings, None, run, workers=2)
    assert predict(examples, build(settings, None), run, tmp_path / "several.jsonl", over=over) == 70
    one, several = (
        [(trace.question.id, trace.answer) for trace in read_traces(tmp_path / name)]
        for name in ("one.jsonl", "several.jsonl")
    )
    assert several == one


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_shards_in_actors_find_what_the_library_finds(tmp_path: Path, files: Path) -> None:
    from wherefrom.scale.shards import build_shards, open_shards

    with Library(tmp_path / "library", Settings()) as library:
        library.ingest([files])
        assert build_shards(library, 2) == library.counts()[1]
        shards, index = open_shards(library), library.folder().index("bm25")
        for question in ("the old gate", "row 7 of the lighthouse", "bridge number 12"):
            (expected,), (found,) = index.search([question], 5), shards.search([question], 5)
            assert [score for _, score in found] == pytest.approx([score for _, score in expected], rel=2e-5)
        library.remove(["page.html"])
        with pytest.raises(LibraryError, match="changed since its shards were built"):
            open_shards(library)


@needs_ray
def test_there_is_at_least_one_worker() -> None:
    from wherefrom.scale.workers import cluster

    with pytest.raises(SettingsError, match="at least one"), cluster(0):
        pass


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_remedy_is_named(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("A note.")
    command = [sys.executable, "-m", "wherefrom", "ingest", "--workers", "2", "--library", str(tmp_path / "library")]
    done = subprocess.run([*command, str(tmp_path / "note.txt")], capture_output=True, text=True, check=False)
    assert done.returncode == WherefromError.exit_code
    assert "install 'wherefrom[scale]'" in done.stderr
