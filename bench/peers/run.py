"""wherefrom and its peers at the same work, one after the other: python -m bench.peers.run WORK --real DIR.

    python -m bench.real.fetch DIR                        # the documents of the set `real`
    python -m bench.peers.run WORK --real DIR             # everything: environments, models, sets, answers, the table
    python -m bench.peers.run WORK --real DIR --only wherefrom --only haystack --set real
    python -m bench.peers.run WORK --table                # the table of what was answered so far
    python -m bench.peers.run WORK --table --record       # and its lines in runs/peers.jsonl

Needs WHEREFROM_DATA for the set `open`, and WHEREFROM_PRETRAINED for a peer's vectors. Every answer is kept as it
comes: what was interrupted goes on where it was. Nothing of a peer is installed here: each has an environment of its
own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import DataMissing
from bench.facts import collect
from bench.measure import ROOT
from bench.peers import models, sets
from bench.peers.child import Line
from bench.peers.configurations import CONFIGURATIONS, Configuration
from bench.peers.install import InstallFailed, install, own_size, python_of
from bench.peers.process import Process, SystemFailed
from bench.peers.report import SETS, lines, table
from bench.running import count
from bench.runs import RUNS, record
from wherefrom.durable import write_text
from wherefrom.errors import WherefromError

WEIGHTS = ROOT / "src" / "wherefrom" / "weights" / "reader"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run, and how large."""

    work: Path
    real: Path | None
    passages: int = 300_000
    embedded: int = 10_000
    questions: int = 200
    written: int = 60  # of each part of a set, for systems that write
    threads: int = 1
    collections: tuple[str, ...] = ()

    @property
    def environments(self) -> Path:
        return self.work / "environments"

    def set_folder(self, name: str, configuration: Configuration) -> Path:
        """The set as this system is given it: fewer passages where it embeds them."""
        small = name == "open" and configuration.embeds
        return self.work / "sets" / (f"{name}-small" if small else name)

    def answers(self, name: str, configuration: Configuration) -> Path:
        return self.work / "answers" / f"{self.set_folder(name, configuration).name}-{configuration.name}.jsonl"


def answer(plan: Plan, configuration: Configuration, name: str, say: Callable[[str], None] = print) -> None:
    """Ask one system the questions of a set that it has not answered yet; every answer is kept at once."""
    folder, out = plan.set_folder(name, configuration), plan.answers(name, configuration)
    out.parent.mkdir(parents=True, exist_ok=True)
    _drop_half_a_line(out)
    known = {line["id"] for line in kept(out) if "id" in line}
    asked = _fewer(sets.questions_of(folder), plan.written) if configuration.writes else sets.questions_of(folder)
    missing = [question for question in asked if question.id not in known]
    if not missing:
        return
    work = plan.work / "running" / configuration.name
    work.mkdir(parents=True, exist_ok=True)
    options = {"work": str(work), "models": str(plan.work / "models"), "threads": plan.threads, **configuration.options}
    python = python_of(plan.environments, configuration.environment)
    done = 0
    with (
        Process(python, configuration.module, options, work / "log.txt") as process,
        out.open("a", encoding="utf-8") as answers,
    ):
        first = True
        for library, file in sets.libraries_of(folder).items():
            of_library = [question for question in missing if question.library == library]
            if not of_library:
                continue
            _keep(answers, {"ingested": library, **process.tell("ingest", file=str(file.resolve()))})
            for question in of_library:
                told = process.tell("ask", question=question.question)
                if first:
                    _keep(answers, {"first_s": time.perf_counter() - process.begun})
                    first = False
                _keep(answers, {"id": question.id, **told})
                done += 1
                if done % 10 == 0 or done == len(missing):
                    say(f"{configuration.name}, {folder.name}: {done} of {len(missing)} questions")
        _keep(answers, process.tell("end"))


def kept(file: Path) -> list[Line]:
    """What was kept of a system's answers."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _keep(answers: object, line: Line) -> None:
    print(json.dumps(line, ensure_ascii=False), file=answers, flush=True)  # type: ignore[call-overload]


def _drop_half_a_line(file: Path) -> None:
    """What was being written when the machine went down."""
    data = file.read_bytes() if file.exists() else b""
    if data and not data.endswith(b"\n"):
        file.write_bytes(data[: data.rfind(b"\n") + 1])


def _fewer(asked: Sequence[sets.Asked], wanted: int) -> list[sets.Asked]:
    """As many of every part, drawn evenly."""
    parts = dict.fromkeys(question.part for question in asked)
    return [
        question for part in parts for question in sets.spread([each for each in asked if each.part == part], wanted)
    ]


def prepare(plan: Plan, name: str, configuration: Configuration, say: Callable[[str], None]) -> None:
    """The set, the environment and the models that a system needs."""
    folder = plan.set_folder(name, configuration)
    if name == "open":
        sets.open_domain(folder, plan.embedded if configuration.embeds else plan.passages, plan.questions)
    elif plan.real is not None:
        sets.real(folder, plan.real, plan.collections, say)
    if not configuration.environment:
        return
    install(plan.environments, configuration.environment, say)
    pretrained = Path(os.environ.get("WHEREFROM_PRETRAINED", "pretrained"))
    python = python_of(plan.environments, configuration.environment)
    wanted = (["smollm2"] if configuration.writes else ["reader"]) + (["minilm"] if configuration.embeds else [])
    models.make(plan.work / "models", wanted, pretrained, WEIGHTS, python, say)


def sizes(plan: Plan) -> dict[str, dict[str, float]]:
    """How large each environment is, by its name; ours under the empty one."""
    names = {each.environment for each in CONFIGURATIONS.values() if each.environment}
    there = {name: install(plan.environments, name) for name in names if (plan.environments / name).is_dir()}
    return {"": own_size(), **there}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    plan = Plan(
        options.work.resolve(),
        options.real.resolve() if options.real else None,
        options.passages,
        options.embedded,
        options.questions,
        options.written,
        options.threads,
        tuple(options.collection),
    )
    chosen = [CONFIGURATIONS[name] for name in options.only or CONFIGURATIONS]
    failed = False
    try:
        for name in () if options.table else options.set or SETS:
            if name == "real" and plan.real is None:
                print("bench: the set `real` needs --real, where bench.real.fetch put its documents", file=sys.stderr)
                continue
            for configuration in chosen:
                failed |= not _answered(plan, configuration, name)
    except KeyboardInterrupt:
        print("bench: interrupted; what was answered is kept, and the same command goes on", file=sys.stderr)
        return 130
    except (DataMissing, WherefromError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    shown, rows, installed = options.set or SETS, list(CONFIGURATIONS.values()), sizes(plan)
    told = table(plan, rows, installed, shown)
    plan.work.mkdir(parents=True, exist_ok=True)
    write_text(plan.work / "table.md", told)
    print(told)
    if options.record:
        record(lines(plan, rows, installed, collect(("wherefrom",)), shown), RUNS)
    return int(failed)


def _answered(plan: Plan, configuration: Configuration, name: str) -> bool:
    """Whether one system got through; another's trouble does not keep the others from it."""

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        prepare(plan, name, configuration, say)
        answer(plan, configuration, name, say)
    except (SystemFailed, InstallFailed) as error:
        say(f"bench: {configuration.name}: {error}")
        return False
    return True


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    plan = Plan(Path(), None)
    parser.add_argument("work", type=Path, help="a folder for environments, models, sets and answers: 8 GB")
    parser.add_argument(
        "--real", type=Path, metavar="DIR", help="where `python -m bench.real.fetch` made its collections"
    )
    parser.add_argument("--set", action="append", choices=SETS, help="only this one; may be repeated")
    parser.add_argument(
        "--only", action="append", choices=sorted(CONFIGURATIONS), help="only this system; may be repeated"
    )
    parser.add_argument("--collection", action="append", default=[], help="only this one of the real documents")
    parser.add_argument("--passages", type=count, default=plan.passages, help="of the set open (default %(default)s)")
    parser.add_argument("--embedded", type=count, default=plan.embedded, help="for vectors (default %(default)s)")
    parser.add_argument(
        "--questions", type=count, default=plan.questions, help="squad's and NQ's (default %(default)s)"
    )
    parser.add_argument(
        "--written", type=count, default=plan.written, help="of a part, to be written (default %(default)s)"
    )
    parser.add_argument("--threads", type=count, default=plan.threads, help="of every system (default %(default)s)")
    parser.add_argument("--table", action="store_true", help="ask nothing; the table of what was answered")
    parser.add_argument("--record", action="store_true", help="put the figures into runs/peers.jsonl")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
