"""The two packages: what the defaults use is in wherefrom and small enough, the laboratory is in wherefrom-lab."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import wherefrom
from effort import ALL
from wherefrom import Library
from wherefrom.lab import LabMissing, lab_file
from wherefrom.papers import table
from wherefrom.runtime.weights import SHIPPED, Weights, WeightsError
from wherefrom.types import Document

pytest.importorskip("hatchling", reason="packages are built with hatchling: pip install 'wherefrom[dev]'")

ROOT = Path(__file__).parents[1]
MOST_BYTES = 76_000_000  # of the wheel; an index takes no file above 100 MB
MOST_SDIST_BYTES = 100_000_000
LABORATORY = {"cete", "drqa", "embedder", "rankqa", "rankqa-drqa"}
SHIPPED_ONES = {"reader", "writer", "yes-no", "fluency", "tagger", "matcher", "selector"}  # that the defaults use
CHECKOUT = pytest.mark.skipif(not (SHIPPED / "drqa").exists(), reason="the laboratory's source has its weights")
BESIDE = {"followup", "LICENSE.md"}  # what conversations use, and the terms of all


@dataclass(frozen=True)
class Built:
    wheel: Path
    lab: Path

    def names(self, path: Path, below: str) -> set[str]:
        """The first folder or file of each entry below a folder of the wheel."""
        inside = zipfile.ZipFile(path).namelist()
        return {name.removeprefix(below).split("/")[0] for name in inside if name.startswith(below)}


def built(project: Path, kind: str, out: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (made,) = out.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return made


@pytest.fixture(scope="module")
def packages(made_once: Callable[..., Path]) -> Built:
    def make(folder: Path) -> None:
        built(ROOT, "wheel", folder / "own")
        built(ROOT / "lab", "wheel", folder / "lab")

    folder = made_once("packages", make)
    (wheel,), (lab,) = folder.glob("own/*"), folder.glob("lab/*")
    return Built(wheel, lab)


def test_the_wheel_is_small_and_holds_what_the_defaults_use(packages: Built, tmp_path: Path) -> None:
    assert packages.wheel.stat().st_size <= MOST_BYTES
    with Library(tmp_path / "library") as library:
        library.put([Document("note", "The boiler was serviced by Marta.")])
        used = {folder.name for folder in library.pipeline().weights}
    assert used == SHIPPED_ONES
    assert packages.names(packages.wheel, "wherefrom/weights/") == used | BESIDE
    inside = set(zipfile.ZipFile(packages.wheel).namelist())
    assert not [name for name in inside if re.search(r"table\.toml|/settings/|\.tsv$", name)]
    for name in used:
        assert {f"wherefrom/weights/{name}/{file.name}" for file in (SHIPPED / name).iterdir()} <= inside
    assert {"wherefrom/py.typed", "wherefrom/server/page/index.html", "wherefrom/papers/table.py"} <= inside


@CHECKOUT
def test_all_else_is_in_the_laboratory(packages: Built) -> None:
    weights = {folder.name for folder in SHIPPED.iterdir()}
    assert weights >= LABORATORY
    assert packages.names(packages.lab, "wherefrom_lab/weights/") == weights - SHIPPED_ONES - BESIDE
    assert packages.names(packages.lab, "wherefrom_lab/papers/") == set(table.slugs())
    inside = set(zipfile.ZipFile(packages.lab).namelist())
    assert "wherefrom_lab/systems/yes_no/yes_no_squad.tsv" in inside
    assert "wherefrom_lab/LICENSE" in inside
    both = {name.removeprefix("wherefrom_lab/") for name in inside if not name.endswith("__init__.py")}
    assert not {f"wherefrom/{name}" for name in both} & set(zipfile.ZipFile(packages.wheel).namelist())


def installed(target: Path, *wheels: Path) -> dict[str, str]:
    """An environment that has these wheels before all else."""
    options = ["--no-deps", "--no-index", "--no-compile", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), *map(str, wheels)], check=True
    )
    return {**os.environ, "PYTHONPATH": str(target)}


def told(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", *command], cwd=environment["PYTHONPATH"], env=environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr


FIND = "from wherefrom.runtime.weights import Weights; print(Weights.named('{}').file('settings.toml'))"
PAPERS = "from wherefrom.papers.table import slugs; print(*slugs())"
LABELS = "from wherefrom.lab import lab_file; print(lab_file('systems/yes_no/yes_no_squad.tsv'))"


@CHECKOUT
def test_installed_together_everything_is_found(packages: Built, tmp_path: Path) -> None:
    environment = installed(tmp_path, packages.wheel, packages.lab)
    for name in ("cete", "drqa", "embedder", "rankqa"):
        expected = tmp_path / "wherefrom_lab" / "weights" / name / "settings.toml"
        assert told(environment, "-c", FIND.format(name)).strip() == str(expected)
    assert told(environment, "-c", FIND.format("reader")).strip().startswith(str(tmp_path / "wherefrom" / "weights"))
    assert told(environment, "-c", LABELS).strip().startswith(str(tmp_path / "wherefrom_lab"))
    assert told(environment, "-c", PAPERS).split() == table.slugs()


def test_installed_alone_it_answers_and_names_the_other_package(packages: Built, tmp_path: Path) -> None:
    environment = installed(tmp_path, packages.wheel)
    (tmp_path / "note.txt").write_text("The boiler was serviced by Marta in May.")
    library = ("--library", str(tmp_path / "library"))
    told(environment, "-m", "wherefrom", "ingest", "note.txt", *library)
    question = "Who serviced the boiler?"
    assert told(environment, "-m", "wherefrom", "ask", question, *library).startswith("Marta")
    remedy = "in the package wherefrom-lab: pip install wherefrom-lab"
    other = told(environment, "-m", "wherefrom", "ask", question, *library, "--set", "read.kind=drqa")
    assert "the weights 'drqa' are missing" in other
    assert remedy in other
    assert remedy in told(environment, "-c", PAPERS)
    assert remedy in told(environment, "-c", LABELS)


def test_what_is_missing_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WeightsError, match=r"the weights 'fancy' are missing; .* pip install wherefrom-lab"):
        Weights.named("fancy").file("settings.toml")
    with pytest.raises(WeightsError, match=r"nothing\.json is missing; install wherefrom again"):
        Weights.named("reader").file("nothing.json")
    with pytest.raises(LabMissing, match="weights/fancy is in the package wherefrom-lab: pip install wherefrom-lab"):
        lab_file("weights/fancy")
    monkeypatch.setattr(table, "SHELVES", [tmp_path])
    with pytest.raises(LabMissing, match="tables are in the package wherefrom-lab"):
        table.papers()


@CHECKOUT
def test_what_a_checkout_holds_goes_before_an_installed_laboratory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("drqa", "fancy"):
        (tmp_path / "wherefrom_lab" / "weights" / name).mkdir(parents=True)
    (tmp_path / "wherefrom_lab" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert Weights.named("drqa").folder == SHIPPED / "drqa"
    assert Weights.named("fancy").folder == tmp_path / "wherefrom_lab" / "weights" / "fancy"
    assert Weights.named(f"{tmp_path}/fancy").folder == tmp_path / "fancy"


def test_versions_are_in_step() -> None:
    own, lab = (tomllib.loads((ROOT / place / "pyproject.toml").read_text())["project"] for place in (".", "lab"))
    assert own["version"] == lab["version"] == wherefrom.__version__
    assert lab["dependencies"] == [f"wherefrom=={own['version']}"]
    assert f"\nversion: {own['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows which files are its own")
def test_the_source_package_takes_all_that_tests_look_at() -> None:
    own = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    taken = own["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    not_named = {"/.gitignore", "/.pre-commit-config.yaml", "/pyproject.toml"}  # the first and last come anyway
    assert {f"/{name.split('/')[0]}" for name in tracked.splitlines()} - not_named <= set(taken)


@pytest.mark.skipif(not ALL, reason="building and testing the source package takes a minute: make test-all")
def test_the_source_package_builds_and_its_tests_run(tmp_path: Path) -> None:
    packed = built(ROOT, "sdist", tmp_path)
    assert packed.stat().st_size <= MOST_SDIST_BYTES
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / packed.name.removesuffix(".tar.gz")
    assert built(source, "wheel", tmp_path).stat().st_size <= MOST_BYTES
    parts = ["test_config.py", "test_docs.py", "test_import_map.py", "test_sample.py", "ingest", "papers"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(f"tests/{part}" for part in parts)],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source / "src"), "WHEREFROM_TEST_ALL": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
