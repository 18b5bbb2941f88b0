"""Regular expressions that take more than their share of time: python -m attack.expressions [MODULE ...].

Each expression of the package is run on texts made of its own parts again and again: what takes the square of a text's
length, or worse, shows. Left out are the packages that read published data alone, to train and measure. An expression
of which that is known to do no harm says why where it stands: `# linear: WHY`.
"""

from __future__ import annotations

import ast
import importlib
import os
import random
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from select import select
from typing import Any

from bench.measure import ROOT

from attack.fuzz import cpu
from wherefrom.errors import WherefromError

SOURCE = ROOT / "src"
_NOT_FROM_STRANGERS = ("data", "metrics", "evaluate", "networks", "train", "systems", "papers")
_SHORT = 4_000  # characters of a text; four times as many are given where that takes longer than it should
_TIMES = 4
_QUICK = 0.001  # seconds for the short text: the square of its length takes longer
_MOST_TIMES = 8  # as long for the long text: a line takes four times as long, a square sixteen times
_ENDLESS = 10.0  # seconds of work on the texts of one expression
_LEAST_PUMPED = 50  # a part that may come so often
_PUMPS = 5  # texts of each such part
_PLAIN = " \n\ta1A.-_!\u0301"
_ENDS = ("", "\0", "\n\0")
_EXCUSE = re.compile(r"#\s*linear: \S+")


@dataclass(frozen=True)
class Expression:
    """One expression of a module, and what is called of it: `search` where it is looked for all over a text."""

    place: str
    pattern: re.Pattern[str] | re.Pattern[bytes]
    called: frozenset[str]

    @property
    def searches(self) -> bool:
        return "search" in self.called


# ------------------------------------------------------------------------------- the expressions of a module

_FUNCTIONS = ("compile", "match", "fullmatch", "search", "sub", "subn", "findall", "finditer", "split")
_AT_THE_BEGINNING = ("match", "fullmatch")


def expressions(name: str, path: Path) -> Iterator[Expression]:
    """Those of the calls of `re` whose pattern can be told from the module alone."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    names: dict[str, Any] = {"re": re}
    with suppress(ImportError, WherefromError):  # it needs what is not installed: what it imports is not known then
        names = vars(importlib.import_module(name))
    uses = _uses(tree)
    excused = _excused(tree, lines)
    targets = {
        id(node.value): target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr in _FUNCTIONS):
            continue
        if node.lineno in excused:
            continue
        pattern = _compiled(node, names)
        if pattern is None:
            continue
        how = node.func.attr
        if how == "compile":
            called = uses.get(targets.get(id(node), ""), frozenset(("search",)))
        else:
            called = frozenset((how if how in _AT_THE_BEGINNING else "search",))
        yield Expression(f"{path.relative_to(ROOT)}:{node.lineno}", pattern, called)


def _excused(tree: ast.Module, lines: Sequence[str]) -> set[int]:
    """The lines of the statements that say of their expressions why they do no harm."""
    excused: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if any(_EXCUSE.search(lines[line - 1]) for line in own):
                excused.update(own)
    return excused


def _uses(tree: ast.AST) -> dict[str, frozenset[str]]:
    """For every name what is called of it; `search` where it is used in any way but at the beginning of a text."""
    uses: dict[str, frozenset[str]] = {}
    called: dict[int, str] = {}
    for node in ast.walk(tree):
        of = node.func if isinstance(node, ast.Call) else None
        # With a place to begin at, it is tried at one place after the other.
        if isinstance(of, ast.Attribute) and of.attr in _AT_THE_BEGINNING and len(node.args) == 1:  # type: ignore[attr-defined]
            called[id(of.value)] = of.attr
        elif isinstance(node, ast.Compare):  # whether there is one
            called[id(node.left)] = "match"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id] = uses.get(node.id, frozenset()) | {called.get(id(node), "search")}
    return uses


def _compiled(call: ast.Call, names: dict[str, Any]) -> re.Pattern[str] | re.Pattern[bytes] | None:
    """The expression of a call of `re`; what a function puts into it stands as a letter."""
    pattern = _value(call.args[0], names)
    given = [each.value for each in call.keywords if each.arg == "flags"]
    if getattr(call.func, "attr", "") == "compile":
        given += call.args[1:2]
    flags = _value(given[0], names) if given else 0
    if not isinstance(pattern, str | bytes):
        return None
    with suppress(re.error):
        return re.compile(pattern, flags if isinstance(flags, int) else 0)
    return None


def _value(node: ast.expr, names: dict[str, Any]) -> object:
    if isinstance(node, ast.JoinedStr):
        parts = (str(_value(part, names) or "a") for part in node.values)
        return "".join(parts)
    if isinstance(node, ast.FormattedValue):
        return _value(node.value, names)
    try:
        return eval(compile(ast.Expression(node), "", "eval"), dict(names))
    except Exception:  # noqa: BLE001 - it is made of what only a call knows
        return None


# ------------------------------------------------------------------------------------- texts of its own parts


def texts(pattern: re.Pattern[str] | re.Pattern[bytes], searches: bool) -> Iterator[Callable[[int], str]]:
    """Texts of any length that are likely to take long; each is a function of the length."""
    said = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    # What is asked of the parser is that of the module `re`; bytes are looked at as the letters of their numbers.
    tree = parser.parse(
        said, pattern.flags & ~re.LOCALE & ~re.ASCII if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    chance = random.Random(repr(said))
    letters = list(dict.fromkeys([*_literals(tree), *_PLAIN]))[:40]
    seen: set[tuple[str, str, str]] = set()
    for before, pump in _pumped(tree, "", letters, chance):
        units = [(before, pump)]
        if searches and before:
            units += [("", before + pump), ("", before)]
        for begin, unit in units:
            for end in _ENDS:
                if unit and (begin, unit, end) not in seen:
                    seen.add((begin, unit, end))
                    yield _made(begin, unit, end)


def _made(begin: str, unit: str, end: str) -> Callable[[int], str]:
    return lambda length: begin + unit * max(length // len(unit), 1) + end


def _pumped(tree: Any, before: str, letters: Sequence[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    """(what stands before, what may come again and again) for every part that may."""
    for op, given in tree:
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            _, most, inside = given
            yield from _pumped(inside, before, letters, chance)
            if most >= _LEAST_PUMPED:
                for unit in _units(inside, letters, chance):
                    yield before, unit
        elif op is ops.SUBPATTERN:
            yield from _pumped(given[3], before, letters, chance)
        elif op is ops.ATOMIC_GROUP:
            yield from _pumped(given, before, letters, chance)
        elif op is ops.BRANCH:
            for branch in given[1]:
                yield from _pumped(branch, before, letters, chance)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from _pumped(given[1], before, letters, chance)
        before += _sample([(op, given)], letters, chance)


def _units(tree: Any, letters: Sequence[str], chance: random.Random) -> list[str]:
    items = list(tree)
    if len(items) == 1 and items[0][0] in (ops.IN, ops.ANY, ops.NOT_LITERAL, ops.LITERAL):
        fitting = [letter for letter in letters if _fits(items[0], letter)]
        return fitting[:2] + chance.sample(fitting[2:], min(len(fitting[2:]), _PUMPS - 2))
    return list(dict.fromkeys(_sample(tree, letters, chance) for _ in range(_PUMPS)))


def _sample(tree: Any, letters: Sequence[str], chance: random.Random) -> str:
    """A text that the expression fits, or nearly so: what looks around is not looked at."""
    out = []
    for op, given in tree:
        if op is ops.LITERAL:
            out.append(chr(given))
        elif op in (ops.IN, ops.ANY, ops.NOT_LITERAL):
            fitting = [letter for letter in letters if _fits((op, given), letter)]
            out.append(chance.choice(fitting) if fitting else "x")
        elif op is ops.BRANCH:
            out.append(_sample(chance.choice(given[1]), letters, chance))
        elif op is ops.SUBPATTERN:
            out.append(_sample(given[3], letters, chance))
        elif op is ops.ATOMIC_GROUP:
            out.append(_sample(given, letters, chance))
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            least, most, inside = given
            times = least if most == least else chance.choice((least, max(least, min(1, most))))
            out += [_sample(inside, letters, chance) for _ in range(min(times, 20))]
    return "".join(out)


def _fits(item: Any, letter: str) -> bool:
    op, given = item
    if op is ops.LITERAL:
        return chr(given) == letter
    if op is ops.NOT_LITERAL:
        return chr(given) != letter
    if op is ops.ANY:
        return letter != "\n"
    negated = any(each is ops.NEGATE for each, _ in given)
    return any(_is_one(each, what, letter) for each, what in given if each is not ops.NEGATE) != negated


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdigit,
    ops.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdigit(),
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
    ops.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
    ops.CATEGORY_NOT_WORD: lambda letter: not (letter.isalnum() or letter == "_"),
}


def _is_one(op: Any, given: Any, letter: str) -> bool:
    if op is ops.LITERAL:
        return chr(given) == letter
    if op is ops.RANGE:
        return bool(given[0] <= ord(letter) <= given[1])
    return op is ops.CATEGORY and _CATEGORIES[given](letter)


def _literals(tree: Any) -> Iterator[str]:
    """Every letter that the expression names."""
    for op, given in tree:
        if op in (ops.LITERAL, ops.NOT_LITERAL):
            yield chr(given)
        elif op is ops.RANGE:
            yield chr(given[0])
        elif op is ops.IN:
            yield from _literals(given)
        elif op is ops.BRANCH:
            for branch in given[1]:
                yield from _literals(branch)
        elif op is ops.SUBPATTERN:
            yield from _literals(given[3])
        elif op is ops.ATOMIC_GROUP:
            yield from _literals(given)
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            yield from _literals(given[2])
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from _literals(given[1])


# ------------------------------------------------------------------------------------------------- the clock


def slow(expression: Expression) -> str:
    """A text that takes more than its share, shown; nothing where there is none."""
    for made in texts(expression.pattern, expression.searches):
        for length in (24, 200):  # what doubles with each sign does not end here, and is ended from without
            _seconds(expression, made(length), once=True)
        short = _seconds(expression, made(_SHORT))
        if short > _QUICK and _seconds(expression, made(_TIMES * _SHORT)) > _MOST_TIMES * short:
            return f"{made(12)[:60]!r}, again and again"
    return ""


def _seconds(expression: Expression, text: str, once: bool = False) -> float:
    """The shortest of a few times: a busy machine makes some of them longer."""
    given: Any = text.encode("latin-1", "replace") if isinstance(expression.pattern.pattern, bytes) else text
    pattern: Any = expression.pattern
    shortest = float("inf")
    for _ in range(1 if once else 3):
        begun = time.process_time()
        if expression.searches:
            for _ in pattern.finditer(given):
                pass
        for name in expression.called - {"search"}:
            getattr(pattern, name)(given)
        shortest = min(shortest, time.process_time() - begun)
        if shortest < _QUICK:
            break
    return shortest


def slow_ones(every: Sequence[Expression]) -> Iterator[tuple[Expression, str]]:
    """Those that are slow, and why; each is tried in a process that can be ended: nothing else ends an expression."""
    begin = 0
    while begin < len(every):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            try:
                for number in range(begin, len(every)):
                    os.write(writing, f"{number}\t{slow(every[number])}\n".encode("utf-8", "backslashreplace"))
            except BaseException:  # noqa: BLE001 - the other side tells that it failed, after this
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb", buffering=0) as lines:
            for number, why in _heard(lines.fileno(), process, begin):
                begin = number + 1
                if why:
                    yield every[number], why
        _, status = os.waitpid(process, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise RuntimeError(f"the check itself failed on {every[begin].place}")


def _heard(pipe: int, process: int, begin: int) -> Iterator[tuple[int, str]]:
    number, used, left = begin - 1, cpu(process), b""
    while True:
        if select([pipe], [], [], 1.0)[0]:
            piece = os.read(pipe, 1 << 16)
            if not piece:
                return
            *whole, left = (left + piece).split(b"\n")
            for line in whole:
                at, _, why = line.decode("utf-8").partition("\t")
                number, used = int(at), cpu(process)
                yield number, why
        elif cpu(process) - used > _ENDLESS:
            os.kill(process, signal.SIGKILL)
            yield number + 1, "it does not end"
            return


def every_expression(modules: Sequence[str] = ()) -> list[Expression]:
    found: dict[tuple[str, str | bytes], Expression] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        wanted = any(name.startswith(module) for module in modules) if modules else not _is_apart(name)
        if name.endswith("__main__") or not wanted:
            continue
        for each in expressions(name, path):
            found[each.place, each.pattern.pattern] = each
    return list(found.values())


def _is_apart(module: str) -> bool:
    return module.split(".")[1:2] != [] and module.split(".")[1] in _NOT_FROM_STRANGERS


def main(modules: Sequence[str]) -> int:
    every = every_expression(modules)
    count = 0
    for expression, why in slow_ones(every):
        count += 1
        print(f"{expression.place}: takes more than its share of time on {why}")
        print(f"    {str(expression.pattern.pattern)[:150]!r}, by {' and '.join(sorted(expression.called))}")
    print(f"{len(every)} regular expressions, {count} of them slow", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
