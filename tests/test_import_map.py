"""The import map of docs/concepts/map.md, and what a plain install must never load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
INFERENCE = (
    "library",
    "build",
    "pipeline",
    "ingest",
    "retrieve",
    "rank",
    "read",
    "rerank",
    "judge",
    "write",
    "summarize",
    "runtime",
    "features",
    "store",
    "stages",
)
HEAVY = {"torch", "transformers", "scipy", "pandas"}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("wherefrom", include_external_packages=True, cache_dir=None)


def test_imports_point_down() -> None:
    """In a process of its own: import-linter disables every logger that there is, and other tests read logs."""
    linted = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 0, linted.stdout + linted.stderr


def part_of(module: str) -> str:
    """`wherefrom.store.sqlite` is of the part `store`."""
    return (module + ".").split(".")[1]


def test_inference_cannot_see_gold(graph: grimp.ImportGraph) -> None:
    for module in graph.modules:
        if part_of(module) in INFERENCE and module.startswith("wherefrom"):
            seen = {part_of(other) for other in graph.find_modules_directly_imported_by(module)}
            assert not seen & {"data", "metrics"}, f"{module} imports gold"


def test_only_training_and_papers_know_networks_and_torch(graph: grimp.ImportGraph) -> None:
    for module in graph.modules:
        if module.startswith("wherefrom") and part_of(module) not in ("networks", "train", "systems", "papers"):
            seen = graph.find_modules_directly_imported_by(module)
            assert not seen & {"torch", "transformers"}, f"{module} imports torch"
            assert "networks" not in {part_of(other) for other in seen if other.startswith("wherefrom")}


def loaded_by(code: str, *arguments: str) -> set[str]:
    """The top-level modules in memory after running `code` in a fresh interpreter."""
    tell = "\nimport sys; print('|'.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", code + tell, *arguments], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.splitlines()[-1].split("|"))


def test_importing_the_command_line_loads_next_to_nothing() -> None:
    loaded = loaded_by("import wherefrom.cli")
    networks = {"numpy", "onnxruntime", "tokenizers"}
    others = {"tantivy", "rich", "lxml", "trafilatura", "pypdfium2", "docx", "msgspec", "sqlite3"}
    assert not loaded & (HEAVY | networks | others)


def test_what_systems_say_of_themselves_loads_neither_torch_nor_numpy() -> None:
    code = "from wherefrom.systems import table\nfor name in table.SYSTEMS:\n    assert table.about(name).name == name"
    assert not loaded_by(code) & (HEAVY | {"numpy", "safetensors", "onnx", "onnxruntime", "tokenizers", "msgspec"})


def test_a_full_ask_loads_no_torch_and_no_client_of_a_hub(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Boiler\n\nThe boiler was serviced by Marta in May.\n")
    code = (
        "import sys\nfrom wherefrom import Library\n"
        "library = Library(sys.argv[1] + '/library')\n"
        "library.ingest([sys.argv[1] + '/notes.md'])\n"
        "assert 'Marta' in library.ask('Who serviced the boiler?').answer.text\n"
    )
    assert not loaded_by(code, str(tmp_path)) & (HEAVY | {"tokenizers", "huggingface_hub"})
