"""Several libraries asked at once: whose answer is given, and that it is said whose it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.errors import LibraryMissing, NotFound, SettingsError
from wherefrom.several import Libraries
from wherefrom.types import Document, Filter

HOME = [
    Document("boiler.md", "The boiler was serviced by Marta in May. It hums in the cellar.", "The boiler"),
    Document("keys.txt", "The spare key hangs in the pantry.", "Keys"),
]
WORK = [
    Document("boiler.md", "A boiler heats water. Boilers are made of steel.", "Boilers"),
    Document("lakes.md", "Lake Baikal is the deepest lake in the world, at 1,642 metres.", "Lake Baikal"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("several")
    for name, documents in (("home", HOME), ("work", WORK)):
        with Library(place / name) as library:
            library.put(documents)
    return place


@pytest.fixture
def libraries(place: Path) -> Libraries:
    return Libraries.at([place / "work", place / "home"])


def test_the_answer_is_from_the_library_that_has_it_and_is_the_same_as_of_that_one_alone(
    libraries: Libraries, place: Path
) -> None:
    for question, name, text in (
        ("Who serviced the boiler?", "home", "Marta"),
        ("What is the deepest lake in the world?", "work", "Lake Baikal"),
    ):
        traces = libraries.ask(question)
        assert (traces.best.library, traces.best.trace.answer.text) == (name, text)
        alone = Library(place / name).ask(question)
        assert traces.best.trace.answer == alone.answer
        assert traces.best.trace.hits == alone.hits
        (other,) = traces.others
        assert other.library != name
        assert other.trace.answer.chance <= alone.answer.chance


def test_where_none_knows_it_declines_and_nothing_is_written(libraries: Libraries) -> None:
    traces = libraries.ask("What do zebras eat in winter?")
    assert traces.best.trace.answer.text is None
    assert len(traces.others) == 1
    assert libraries.ask("Who serviced the boiler?", min_chance=1.0).best.trace.answer.text is None


def test_networks_are_loaded_once_for_all(libraries: Libraries) -> None:
    libraries.ask("Who serviced the boiler?")
    one, other = libraries["work"].pipeline(), libraries["home"].pipeline()
    assert one.reader is other.reader
    assert one.judge is other.judge
    assert one.retriever is not other.retriever


def test_a_filter_passes_over_libraries_in_which_nothing_fits(libraries: Libraries) -> None:
    traces = libraries.ask("Where does the spare key hang?", within=Filter(types=("txt",)))
    assert (traces.best.library, traces.others) == ("home", ())
    with pytest.raises(NotFound, match="of type pdf"):
        libraries.ask("Where does the spare key hang?", within=Filter(types=("pdf",)))


def test_passages_of_all_are_found_best_first(libraries: Libraries) -> None:
    found_in = libraries.search("boiler", 3)
    assert {name for name, _ in found_in} == {"home", "work"}
    assert [hit.score for _, hit in found_in] == sorted((hit.score for _, hit in found_in), reverse=True)
    assert len(libraries.search("boiler", 1)) == 1


def test_libraries_of_one_name_go_by_their_paths(place: Path, tmp_path: Path) -> None:
    Library(tmp_path / "home").put([Document("a", "The garden is small.")])
    traces = Libraries.at([place / "home", tmp_path / "home", place / "home"]).ask("Who serviced the boiler?")
    assert traces.best.library == str(place / "home")
    assert [other.library for other in traces.others] == [str(tmp_path / "home")]
    with pytest.raises(LibraryMissing):
        Libraries.at([place / "home", tmp_path / "none"]).ask("Who serviced the boiler?")
    with pytest.raises(SettingsError):
        Libraries({})


def wherefrom(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wherefrom", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_command_line_says_which_library_it_is(place: Path) -> None:
    both = ["--library", str(place / "work"), "--library", str(place / "home")]
    done = wherefrom("ask", "Who serviced the boiler?", *both)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Marta\nchance 0.")
    assert "from The boiler (boiler.md), characters 27 to 32, in the library home:" in done.stdout
    traces = json.loads(wherefrom("ask", "Who serviced the boiler?", "--json", *both).stdout)
    assert traces["best"]["library"] == "home"
    assert traces["best"]["trace"]["answer"]["text"] == "Marta"
    assert [other["library"] for other in traces["others"]] == ["work"]
    lines = wherefrom("search", "boiler", *both).stdout.splitlines()
    assert {line.split("\t")[1] for line in lines} == {"home", "work"}
    assert wherefrom("ask", "Who?", "--why", *both).returncode == 2
