"""`wherefrom feedback`: what people said of answers."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import library_options, opened
from wherefrom.cli.output import say


@click.group("feedback")
def command() -> None:
    """What people said of answers through the server: right, wrong, and what would have been better."""


@command.command("export")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE.jsonl",
    help="One example a line, in the layout of the ten-passage set (MS MARCO v2.1).",
)
@click.option("--raw", is_flag=True, help="Every verdict as it was given instead, with its passages.")
@click.option("--who", multiple=True, metavar="KEY", help="Only what came with this key; may be given again.")
@library_options
def export(
    out: Path, raw: bool, who: tuple[str, ...], library: str | None, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """Write training examples: right answers, better ones in place of wrong ones, and right "I don't know"s."""
    import msgspec

    from wherefrom.evaluate.feedback import FeedbackTally, examples

    tally = FeedbackTally()
    fresh = out.with_name(out.name + ".new")
    with opened(library, toml, overrides) as opened_library, fresh.open("wb") as lines:
        verdicts = (one for one in opened_library.feedback() if not who or one.who in who)
        for row in verdicts if raw else examples(verdicts, tally):
            lines.write(msgspec.json.encode(row) + b"\n")
            tally.examples += raw
    fresh.replace(out)
    say(f"{tally.examples:,} {'verdicts' if raw else 'examples'} in {out}")
    for why, count in sorted(tally.left_out.items()):
        say(f"{count:,} left out: {why}")
