"""Tags: kept with a document's id, asked by, and there after everything that happens to a library."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from wherefrom import Library
from wherefrom.errors import NotFound, SettingsError
from wherefrom.server.app import create_app
from wherefrom.store import schema
from wherefrom.types import Document, Filter

DOCUMENTS = [Document(f"{name}.md", f"The {name} hums in the cellar.") for name in ("boiler", "fridge", "oven")]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library")
    library.put(DOCUMENTS)
    library.tag(["boiler.md", "oven.md", "nothing.md"], add=["Heat", "in the cellar"])
    library.tag(["oven.md"], add=["food"], remove=["IN THE  CELLAR"])
    return library


def ids(library: Library, *tags: str) -> list[str]:
    return [facts.id for facts in library.documents(within=Filter(tags=tags))]


def test_documents_are_found_by_all_of_the_tags_named_whatever_their_case(library: Library) -> None:
    assert library.tags() == {"food": 1, "heat": 2, "in the cellar": 1}
    assert library.tags("oven.md") == {"food": 1, "heat": 1}
    assert ids(library, "heat") == ["boiler.md", "oven.md"]
    assert ids(library, "HEAT", " food ") == ["oven.md"]
    assert {facts.id: facts.tags for facts in library.documents()}["oven.md"] == ("food", "heat")
    hits = library.search("what hums in the cellar", within=Filter(tags=("heat",))).hits
    assert {hit.passage.document_id for hit in hits} == {"boiler.md", "oven.md"}
    with pytest.raises(NotFound, match="no document of the library is tagged heat and cold"):
        library.ask("What hums?", within=Filter(tags=("heat", "cold")))


def test_a_tag_stays_when_the_text_changes_and_goes_with_the_document(library: Library) -> None:
    library.put([Document("boiler.md", "It is silent now.")])
    assert ids(library, "heat") == ["boiler.md", "oven.md"]
    library.remove(["boiler.md"])
    library.put([Document("boiler.md", "Another one.")])
    assert ids(library, "heat") == ["oven.md"]
    assert library.check(repair=False).problems == ()


@pytest.mark.parametrize("name", ["", "  ", "a\u0000b", "x" * 101, "\u2028"])
def test_what_is_no_name_is_refused(library: Library, name: str) -> None:
    with pytest.raises(SettingsError, match="cannot be a tag"):
        library.tag(["oven.md"], add=["fine", name])
    assert library.tags("oven.md") == {"food": 1, "heat": 1}


def test_a_changed_row_is_noticed_and_left_behind_by_a_rescue(library: Library, tmp_path: Path) -> None:
    library.close()
    with sqlite3.connect(library.path / "documents.sqlite") as connection:
        connection.execute("UPDATE tag SET name = 'cold' WHERE name = 'food'")
    assert any("table 'tag'" in problem.what for problem in library.check(repair=False).problems)
    library.close()
    done = wherefrom(library.path, "rescue", str(library.path), str(tmp_path / "new"))
    assert "not all tags of documents can be read" in done.stdout + done.stderr
    assert Library(tmp_path / "new").tags() == {"heat": 2, "in the cellar": 1}


def test_backups_have_the_tags(library: Library, tmp_path: Path) -> None:
    library.backup(tmp_path / "a.backup")
    Library.restore(tmp_path / "a.backup", tmp_path / "new")
    assert Library(tmp_path / "new").tags() == library.tags()


def of_format_six(path: Path) -> None:
    with sqlite3.connect(path / "documents.sqlite") as connection:
        connection.execute("DROP TABLE tag")
        connection.execute("PRAGMA user_version = 6")


def test_a_library_of_before_has_none_and_can_be_given_some(library: Library) -> None:
    library.close()
    of_format_six(library.path)
    assert Library(library.path).tags() == {}
    assert Library(library.path).tag(["oven.md"], add=["food"]) == ["oven.md"]
    assert Library(library.path).check(repair=False).problems == ()


def test_of_before_and_only_to_be_read_it_has_none(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.close()
    of_format_six(library.path)
    monkeypatch.setattr(os, "access", lambda _path, mode, **_more: mode != os.W_OK)
    with Library(library.path) as read_only:
        assert read_only.tags() == {}
        assert [facts.tags for facts in read_only.documents()] == [(), (), ()]
        assert read_only.search("boiler").hits
        with pytest.raises(NotFound):
            read_only.search("boiler", within=Filter(tags=("heat",)))


def test_the_step_is_the_last_one() -> None:
    assert max(schema.STEPS) + 1 == schema.FORMAT >= schema.TAGS_SINCE


def wherefrom(library: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wherefrom", "--library", str(library), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_command_line_tags_by_id_by_pattern_by_filter_and_on_ingest(tmp_path: Path) -> None:
    library = tmp_path / "library"
    for name in ("reports/a.md", "reports/b.md", "c.txt"):
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"A note of {name}.")
    files = str(tmp_path / "files")
    Library(library).ingest([files])
    assert wherefrom(library, "ingest", files, "--quiet", "--tag", "all of it", "--tag", "new").returncode == 0
    assert wherefrom(library, "tag", "list").stdout == "all of it\t3\nnew\t3\n"
    assert wherefrom(library, "tag", "remove", "new").stdout == "3 documents untagged\n"
    assert wherefrom(library, "tag", "add", "work", "reports/*").stdout == "2 documents tagged\n"
    assert wherefrom(library, "tag", "add", "work", "--type", "txt").stdout == "1 document tagged\n"
    assert json.loads(wherefrom(library, "tag", "list", "c.txt", "--json").stdout) == {"all of it": 1, "work": 1}
    listed = wherefrom(library, "list", "--tag", "work", "--in", "reports").stdout.splitlines()
    assert [line.split("\t")[-1] for line in listed] == ["all of it, work"] * 2
    assert wherefrom(library, "tag", "add", "x").returncode == 2
    assert wherefrom(library, "tag", "remove", "never given").returncode == 5


def test_tags_over_http(library: Library) -> None:
    with TestClient(create_app(Library(library.path)), "http://127.0.0.1") as client:
        assert client.get("/tags").json() == {"tags": {"food": 1, "heat": 2, "in the cellar": 1}}
        body = {"documents": ["fridge.md", "nothing.md"], "add": ["Cold"], "remove": ["heat"]}
        assert client.post("/tags", json=body).json() == {"documents": ["fridge.md"]}
        listed = {each["id"]: each["tags"] for each in client.get("/documents").json()["documents"]}
        assert listed["fridge.md"] == ["cold"]
        inside = client.post("/search", json={"question": "hums", "within": {"tags": ["cold"]}}).json()
        assert {hit["passage"]["document_id"] for hit in inside["hits"]} == {"fridge.md"}
        assert client.post("/tags", json={"documents": ["fridge.md"], "add": [" "]}).status_code == 422
