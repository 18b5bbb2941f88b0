"""The command line: one file a command, loaded when it is called."""

from __future__ import annotations

import importlib
import io
import sys
import warnings

import click

from wherefrom import __version__
from wherefrom.cli.output import one_line, say
from wherefrom.errors import WherefromError

# The order in which help lists them.
COMMANDS = (
    "ingest",
    "ask",
    "chat",
    "summarize",
    "search",
    "list",
    "show",
    "remove",
    "tag",
    "watch",
    "backup",
    "restore",
    "check",
    "rescue",
    "index",
    "where",
    "doctor",
    "config",
    "serve",
    "mcp",
    "keys",
    "feedback",
    "predict",
    "score",
    "report",
    "reproduce",
    "data",
    "train",
    "completion",
)

_EPILOG = """\b
Exit codes:
  0  done (an answer of "I don't know" is an answer)
  1  part of it failed: a file could not be read, a library is not sound
  2  the command or a setting is written wrongly
  3  the library is missing, foreign, too new or damaged
  4  another process is writing to the library
  5  there is no such document or passage
  6  the disk is full; nothing that was acknowledged is lost
  130  interrupted; what was acknowledged is kept
"""


class _Commands(click.Group):
    """Imports a command's file only when that command is wanted: `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"wherefrom.cli.{cmd_name}_command").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            guess = f"; did you mean {close[0]}?" if close else ""
            raise click.UsageError(f"there is no command '{args[0]}'{guess}", ctx) from error


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "--version", prog_name="wherefrom")
@click.option("--library", metavar="DIR", help="The library's folder, for the command that follows.")
@click.pass_context
def wherefrom(context: click.Context, library: str | None) -> None:
    """Ask your own documents a question and see, for every word of the answer, where it came from.

    \b
      wherefrom ingest ~/notes
      wherefrom ask "When was the boiler last serviced?"
    """
    context.obj = library


def _show_warning(message: Warning | str, category: type[Warning], *_place: object, **_more: object) -> None:
    """A warning in words, without the line of code that gave it."""
    ours = category.__module__.startswith("wherefrom.")
    say(f"wherefrom: {'warning' if ours else category.__name__}: {message}", err=True)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = wherefrom.main(args=arguments, prog_name="wherefrom", standalone_mode=False)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue(), err=True, nl=False)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("wherefrom: interrupted", err=True)
        code = 130
    except WherefromError as error:
        say(one_line(f"wherefrom: {error}"), err=True)
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)
