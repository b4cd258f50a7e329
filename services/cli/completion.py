"""`headwater completion`: what a shell reads to complete the commands and options of headwater."""

import os
import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_HEADWATER_COMPLETE"
"""The variable by which the shell's function asks for words, as Click names it after the program."""


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.pass_context
def completion(context: click.Context, shell: str | None) -> None:
    """Write the completion of commands and options for a shell, by default for the one of $SHELL.

    \b
    eval "$(headwater completion bash)"                               # in ~/.bashrc
    eval "$(headwater completion zsh)"                                # in ~/.zshrc, after compinit
    headwater completion fish > ~/.config/fish/completions/headwater.fish

    \b
    Exit codes: 0 written, 2 there is none for this shell
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(name)
    if name not in _SHELLS or kind is None:
        raise click.UsageError(f"Name the shell: {', '.join(_SHELLS)}.", context)
    source = kind(context.find_root().command, {}, "headwater", _VARIABLE)
    try:
        click.echo(source.source())
    except RuntimeError as error:  # a bash that is too old, or none to ask for its version
        click.echo(str(error), err=True)
        sys.exit(2)
