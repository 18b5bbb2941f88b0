"""What documents hold and are called commands no terminal; JSON says it exactly all the same."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.cli import output
from wherefrom.cli.output import one_line, printable, safe_json, say, styled
from wherefrom.types import Document

COMMANDS = Path(output.__file__).parent
EVIL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\x85\u202egnp.exe\u2066\u200f\x08\x7f\U000e0041"
OURS = re.compile(r"\x1b\[(?:0|1|2|3[1236]|32|1;3\d)m")  # colours, and nothing else


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evil") / "library"
    with Library(path) as library:
        text = f"The boiler{EVIL} was serviced by Marta{EVIL} in May. It {EVIL} is blue."
        library.put([Document(f"notes{EVIL}\nremoved everything.md", text, f"Boiler {EVIL} notes", f"/a{EVIL}/b")])
    return path


def in_terminal(*arguments: str) -> str:
    """What a person's terminal is sent, both streams."""
    master, slave = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "wherefrom", *arguments], stdin=slave, stdout=slave, stderr=slave):
        os.close(slave)
        data = b""
        try:
            while piece := os.read(master, 65536):
                data += piece
        except OSError:  # the other end has gone
            pass
    os.close(master)
    return data.decode("utf-8")


def piped(*arguments: str) -> str:
    command = [sys.executable, "-m", "wherefrom", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=60)
    return (done.stdout + done.stderr).decode("utf-8")


def commands_in(shown: str) -> list[str]:
    """What is left of a text, once line ends and our own colours are out of it, that a terminal would act on."""
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", OURS.sub("", shown))


ASKED = "Who serviced the boiler?"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("search", "boiler"),
        ("ask", ASKED, "--min-chance", "0"),
        ("ask", ASKED, "--why"),
        ("show", f"notes{EVIL}\nremoved everything.md"),
        ("show", f"notes{EVIL}\nremoved everything.md#0"),
        ("show", f"no such {EVIL}"),
        (f"no{EVIL}such",),
        ("ask", f"--{EVIL}", "x"),
        ("check",),
    ],
    ids=lambda arguments: " ".join(arguments)[:12].encode("ascii", "ignore").decode().replace("\x1b", ""),
)
def test_no_command_prints_what_a_terminal_acts_on(library: Path, arguments: tuple[str, ...]) -> None:
    for shown in (in_terminal("--library", str(library), *arguments), piped("--library", str(library), *arguments)):
        assert shown.strip()
        assert commands_in(shown.replace("\r\n", "\n")) == []
        assert not any(line.startswith("removed everything") for line in shown.splitlines())


@pytest.mark.parametrize(
    "arguments", [("list",), ("search", "boiler"), ("show", f"notes{EVIL}\nremoved everything.md")]
)
def test_json_is_exact_and_commands_nothing_either(library: Path, arguments: tuple[str, ...]) -> None:
    shown = piped("--library", str(library), *arguments, "--json")
    assert commands_in(shown) == []
    assert any(EVIL in text for text in values(json.loads(shown)))


def values(value: object) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in values(each)]
    if isinstance(value, list):
        return [text for each in value for text in values(each)]
    return [value] if isinstance(value, str) else []


def test_files_with_such_names_are_brought_in_and_removed_without_harm(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "[").mkdir(parents=True)
    for name in (
        "evil\x1b]0;x\x07.txt",
        "[bold red]a[",
        "[/nope].txt",
        "two\nnot read  lines.txt",
        "\u202etxt.exe.txt",
    ):
        (notes / name).write_text("The boiler is blue.")
    (notes / "broken\x1b[31m.pdf").write_bytes(b"%PDF-1.4 broken")
    library = str(tmp_path / "library")
    for shown in (in_terminal("ingest", str(notes), "--library", library), piped("ingest", str(notes), "-h")):
        assert "Traceback" not in shown
        assert [each for each in commands_in(BAR.sub("", shown.replace("\r", ""))) if each != "\x1b"] == []
    assert len(Library(library).documents()) == 5
    for arguments in (("list",), ("remove", "evil\x1b]0;x\x07.txt")):
        assert commands_in(piped(*arguments, "--library", library)) == []


BAR = re.compile(r"\x1b\[(?:\?25[hl]|\d*[AKGm]|[\d;]+m)")  # how rich draws a bar


def test_colours_come_from_us_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    say(styled("a\x1b[31mb", "bold"))
    assert capsys.readouterr().out == "a\\x1b[31mb\n"  # no terminal, no colour
    assert printable("tab\tline\n é 東 \u0301") == "tab\tline\n é 東 \u0301"
    assert printable("\ud800\U000e0041") == "\\ud800\\U000e0041"
    assert one_line("a\nb") == "a\\nb"


def test_json_without_commands_is_the_same_json() -> None:
    text = "".join(map(chr, [*range(0x20, 0x2100), 0x1F468, 0xE0041, 0xE007F]))
    data = json.dumps({"a": text}, ensure_ascii=False).encode()
    assert json.loads(safe_json(data)) == {"a": text}
    assert commands_in(safe_json(data).decode()) == []


def test_everything_is_said_by_say() -> None:
    for file in COMMANDS.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        allowed = 1 if file.name == "output.py" else 0
        assert len(re.findall(r"click\.(?:echo|secho|style)\b", text)) == allowed, (
            f"{file.name}: by `say`, from output.py"
        )
        assert not re.search(r"(?<![\w.])print\(", text.replace("console().print(", "")), file.name
