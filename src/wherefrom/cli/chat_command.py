"""`wherefrom chat`: questions and follow-ups, one after another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.ask_command import Typed, print_answer, print_reasons, print_sources
from wherefrom.cli.options import filter_options, k_option, library_options, opened
from wherefrom.cli.output import faint, for_people, say, strong
from wherefrom.errors import WherefromError
from wherefrom.types import STYLES, Style

if TYPE_CHECKING:
    from wherefrom.conversation import Conversation
    from wherefrom.library import Library
    from wherefrom.types import Filter, Trace

_HISTORY = 500  # lines that are kept
_LONGEST = 2000  # characters of a question
_HELP = """\
  /sources        the passages of the last answer, with what was copied
  /why            what each step did with the last question
  /style STYLE    short, sentence, quote or passage, from now on
  /new            forget what was said so far
  /quit           end, as ^D does; ^C drops a line or an answer"""


@click.command("chat")
@click.option("--style", type=click.Choice(STYLES), help="How answers are told [default: write.style].")
@click.option(
    "--min-chance",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Decline below this chance that the answer is right [default: judge.min_chance].",
)
@click.option("--no-history", is_flag=True, help="Do not keep what is typed for the arrow keys of the next time.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for every question: its trace.")
@k_option
@filter_options
@library_options
def command(
    style: Style | None,
    min_chance: float | None,
    no_history: bool,
    as_json: bool,
    k: int | None,
    within: Filter | None,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Ask one question after another; follow-ups such as "and how long is it?" are understood.

    How a follow-up was understood is shown before its answer. /sources shows where the last answer is
    from, /new begins a new conversation, /help lists the other commands. Works in pipes too: a question a line.
    """
    with opened(library, toml, overrides) as opened_library:
        opened_library.settings()  # says so at once, if there is no library
        talk = _Talk(opened_library, opened_library.chat(within), style, k, min_chance, as_json)
        if not sys.stdin.isatty():
            for line in sys.stdin:
                if not talk.take(line):
                    break
            return
        if for_people():
            say(faint("Ask away; /help tells what else there is, ^D ends."))
        with _line_editing(keep=not no_history):
            while _taken(talk):
                pass


def _taken(talk: _Talk) -> bool:
    """One line typed by a person, and its answer; whether to go on."""
    try:
        line = input("> ")
    except EOFError:
        say()
        return False
    except KeyboardInterrupt:
        say()
        return True
    try:
        return talk.take(line)
    except KeyboardInterrupt:
        say(faint("\nstopped"))
        return True
    except WherefromError as error:  # the next question may do better
        say(f"wherefrom: {error}", err=True)
        return True


class _Talk:
    """What is typed, and what comes of it."""

    def __init__(
        self,
        library: Library,
        conversation: Conversation,
        style: Style | None,
        k: int | None,
        min_chance: float | None,
        as_json: bool,
    ) -> None:
        self._library = library
        self._conversation = conversation
        self._style = style
        self._k = k
        self._min_chance = min_chance
        self._as_json = as_json
        self._last: Trace | None = None
        self._commands: dict[str, Callable[[str], None]] = {
            "/sources": self._sources,
            "/why": self._why,
            "/style": self._change_style,
            "/new": self._begin_anew,
            "/help": lambda _: say(_HELP),
        }

    def take(self, line: str) -> bool:
        """Do what a line says; whether to go on."""
        line = line.strip()
        name, _, rest = line.partition(" ")
        if name in ("/quit", "/exit"):
            return False
        if name in self._commands:
            self._commands[name](rest.strip())
        elif name.startswith("/") and name[1:].isalpha():
            say(f"there is no {name}; there are\n{_HELP}", err=True)
        elif len(line) > _LONGEST:
            say(f"a question may have {_LONGEST} characters, not {len(line)}; ask for less at once", err=True)
        elif line:
            self._ask(line)
        return True

    def _ask(self, question: str) -> None:
        typed = Typed()
        on_words = typed if for_people() and not self._as_json and not self._conversation.turns else None
        self._last = trace = self._conversation.ask(question, self._style, self._k, self._min_chance, on_words)
        if self._as_json:
            import msgspec

            say(msgspec.json.encode(trace).decode())
            return
        if not sys.stdin.isatty():
            say(faint(f"> {question}"))
        if trace.question.typed:
            say(faint(f"understood as: {trace.question.text}"))
        if trace.question.instead:
            say(faint("rather than: " + "; ".join(trace.question.instead)))
        print_answer(trace, typed.text, sources=False)
        say()

    def _sources(self, _rest: str) -> None:
        answer = self._last.answer if self._last else None
        if answer is None or answer.text is None:
            say("there is no answer yet whose sources could be shown" if self._last is None else "nothing was answered")
            return
        say(strong(answer.text))
        print_sources(answer)
        say()

    def _why(self, _rest: str) -> None:
        if self._last is None:
            say("nothing was asked yet")
            return
        print_reasons(self._library.why(self._last, self._min_chance))
        say()

    def _change_style(self, name: str) -> None:
        if name not in STYLES:
            say(f"there is no style '{name}'; there are {', '.join(STYLES)}", err=True)
            return
        self._style = name
        say(faint(f"answers as a {name}" if name != "short" else "short answers"))

    def _begin_anew(self, _rest: str) -> None:
        self._conversation.forget()
        self._last = None
        say(faint("a new conversation"))


@contextmanager
def _line_editing(keep: bool) -> Iterator[None]:
    """Arrow keys and what was typed before, where the machine has them; only the user may read the file."""
    try:
        import readline
    except ImportError:  # Windows
        yield
        return
    import platformdirs

    file = Path(platformdirs.user_state_dir("wherefrom", appauthor=False)) / "chat_history"
    readline.set_history_length(_HISTORY)
    if keep:
        with suppress(OSError):
            readline.read_history_file(file)
    try:
        yield
    finally:
        if keep:
            with suppress(OSError):  # a disk that is full, a home that may not be written to
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch(mode=0o600)
                readline.write_history_file(file)
                file.chmod(0o600)
