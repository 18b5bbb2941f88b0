"""`wherefrom completion`: let the shell complete commands, options and document ids."""

from __future__ import annotations

import click

from wherefrom.cli.output import say


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
      bash:  eval "$(wherefrom completion bash)"      in ~/.bashrc
      zsh:   eval "$(wherefrom completion zsh)"       in ~/.zshrc
      fish:  wherefrom completion fish > ~/.config/fish/completions/wherefrom.fish
    """
    from click.shell_completion import get_completion_class

    from wherefrom.cli import wherefrom

    complete = get_completion_class(shell)
    assert complete is not None
    say(complete(wherefrom, {}, "wherefrom", "_WHEREFROM_COMPLETE").source())
