"""The Dockerfile and compose.yaml, which no engine runs here: paths, commands and options are those that there are."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from wherefrom.cli import wherefrom
from wherefrom.config import ServerSettings, from_mapping
from wherefrom.retrieve.qdrant import KEY

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


SCALE = yaml.safe_load((ROOT / "compose.scale.yaml").read_text(encoding="utf-8"))


def instructions() -> list[tuple[str, str]]:
    """Each instruction of the Dockerfile and what follows it, continued lines made one."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.strip().partition(" ") for line in lines) if name]


def values(name: str) -> list[str]:
    return [rest for each, rest in instructions() if each == name]


def command_lines() -> list[list[str]]:
    """Every wherefrom command that the two files run or tell to run, without the name of the program."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    run = re.findall(r"compose run --rm wherefrom (.*?)(?:  +#.*)?$", text, re.MULTILINE)
    inside = re.findall(r"compose exec wherefrom wherefrom (.*?)(?:  +#.*)?$", text, re.MULTILINE)
    services = [service["command"] for service in COMPOSE["services"].values() if "command" in service]
    return [json.loads(values("CMD")[-1]), *services, *map(shlex.split, [*run, *inside])]


@pytest.mark.parametrize("arguments", command_lines(), ids=" ".join)
def test_every_command_is_one_that_there_is(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsed as it would be, and not run; a folder of the container counts as there."""
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, _parameter, _context: value)
    context = wherefrom.make_context("wherefrom", list(arguments))
    command = wherefrom
    while isinstance(command, click.Group):
        _, found_command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found_command is not None
        context = found_command.make_context(found_command.name, rest, parent=context)
        command = found_command  # type: ignore[assignment]


def test_what_is_copied_is_all_that_the_package_is_built_of() -> None:
    copied = {name for rest in values("COPY") if "--from" not in rest for name in rest.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    project = PROJECT["project"]
    licences = {name for name in project["license-files"] if name.split("/")[0] not in copied}  # whole folders are
    assert copied >= {"pyproject.toml", project["readme"], *licences}
    assert all(
        Path(folder).parts[0] in copied for folder in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    )
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert let_through == copied


def test_extras_and_python_are_those_of_the_package() -> None:
    (argument,) = re.findall(r'"\.\[\$(\w+)\]"', " ".join(values("RUN")))
    (extras,) = [rest.removeprefix(f"{argument}=") for rest in values("ARG")]
    assert set(extras.split(",")) <= PROJECT["project"]["optional-dependencies"].keys()
    for image in values("FROM"):
        (version,) = re.findall(r"^python:3\.(\d+)-slim", image)
        assert int(version) >= 11


def test_the_library_is_in_the_volume_and_the_port_is_one() -> None:
    (library,) = values("VOLUME")
    assert f"WHEREFROM_LIBRARY={library}" in values("ENV")[0].split()
    assert f"chown wherefrom {library}" in " ".join(values("RUN"))
    (port,) = values("EXPOSE")
    assert f"127.0.0.1:{port}/ready" in values("HEALTHCHECK")[0]
    assert json.loads(values("CMD")[-1])[-2:] == ["--port", port]
    assert int(port) == ServerSettings().port
    service = COMPOSE["services"]["wherefrom"]
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    for each in (service for service in COMPOSE["services"].values() if "build" in service):
        assert f"library:{library}" in each["volumes"]
        assert each["read_only"] is True
    assert "library" in COMPOSE["volumes"]
    assert values("USER") == ["wherefrom"]


def test_the_scaled_one_asks_the_server_that_it_starts() -> None:
    settings = from_mapping(tomllib.loads(SCALE["configs"]["scale"]["content"]))
    (name,) = {"qdrant"} & SCALE["services"].keys()
    assert (settings.retrieve.kind, settings.retrieve.url) == ("qdrant", f"http://{name}:6333")
    for service in ("wherefrom", "watch"):
        assert service in COMPOSE["services"]
        changed = SCALE["services"][service]
        assert changed["environment"]["WHEREFROM_SETTINGS"] == changed["configs"][0]["target"]
        assert KEY in changed["environment"]
        assert changed["depends_on"] == [name]
