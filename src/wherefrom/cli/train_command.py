"""`wherefrom train`: make trained weights from the datasets; a command a system, as its `about` describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wherefrom.cli.options import input_options, set_option, values_of
from wherefrom.cli.output import say
from wherefrom.systems import table
from wherefrom.systems.contract import About, inputs_of, settings_of


class _Systems(click.Group):
    """A command for every system in the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(table.SYSTEMS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return train_one(table.about(cmd_name)) if cmd_name in table.SYSTEMS else None


@click.group("train", cls=_Systems)
def command() -> None:
    """Train a model that wherefrom runs; needs the extra [train]."""


def train_one(about: About) -> click.Command:
    """The command that makes one system."""

    def make(
        out: Path, toml: Path | None, overrides: tuple[str, ...], stage: str | None, until: str | None, **given: Any
    ) -> None:
        from wherefrom.train import stages

        system = table.load(about.name)
        settings = settings_of(system.DEFAULTS, toml or about.recipe, overrides)
        made = system.stages(settings, inputs_of(about.inputs, values_of(about.inputs, given), out), out, say)
        chosen = _chosen(about, stage, until)
        try:
            stages.run(about.name, made, out, chosen, say)
        except KeyboardInterrupt:
            say(f"stopped; all that was saved is in {out}, and the same command goes on from there", err=True)
            raise
        if chosen is None and about.use:
            say(about.use.format(weights=out / "weights", out=out))

    choice = click.Choice(about.stages)
    shipped = f" [default: {about.recipe.name}, what is shipped]" if about.recipe else ""
    options = [
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            required=True,
            metavar="DIR",
            help="Where everything goes; the result is DIR/weights.",
        ),
        click.option(
            "--settings",
            "toml",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help=f"A TOML file with settings; its base names another that it changes{shipped}.",
        ),
        set_option,
        click.option("--stage", type=choice, help="Only this stage [default: all]."),
        click.option("--until", type=choice, help="The stages up to this one."),
        *input_options(about.inputs),
    ]
    decorated = make
    for option in reversed(options):
        decorated = option(decorated)
    text = (
        f"{about.summary}\n\nStages: {', '.join(about.stages)}. One that is finished is skipped, one that was "
        "interrupted goes on: start the same command again."
    )
    return click.command(about.name, help=text, short_help=about.summary.partition("\n")[0])(decorated)


def _chosen(about: About, stage: str | None, until: str | None) -> list[str] | None:
    if stage and until:
        raise click.UsageError("--stage runs one stage, --until all up to one: name one of them")
    if stage:
        return [stage]
    return list(about.stages[: about.stages.index(until) + 1]) if until else None
