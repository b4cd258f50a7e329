"""Every `headwater` command that a page names is there, with the options it is given."""

import re

import click
import pytest

from services.cli.main import main
from tests.docs.pages import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_SPAN = re.compile(r"`(headwater [^`\n]+)`")
_LINE = re.compile(r"(?:^|[(;|&] ?|\$\()(headwater [^\n;|&)>`]+)", re.MULTILINE)
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[str]:
    """List the commands of a page: those in its sentences, and those in its blocks of shell."""
    blocks = "\n".join(_BLOCK.findall(text)).replace("\\\n", " ")
    return [*_SPAN.findall(_BLOCK.sub("", text)), *_LINE.findall(blocks)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_the_commands_of_a_page_are_there(page: object) -> None:
    wrong = [each for each in commands((ROOT / str(page)).read_text(encoding="utf-8")) if not _is_known(each)]

    assert wrong == []


def _is_known(text: str) -> bool:
    command: click.Command = main
    words = text.split()[1:]
    context = click.Context(main)
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        inner = command.get_command(context, words[0].strip(",.:"))
        if inner is None:
            return command is not main and command.invoke_without_command
        command, words = inner, words[1:]
    if command.context_settings.get("ignore_unknown_options"):
        return True
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {
        "--help",
        "-h",
    }
    asked = [word.strip("[],").partition("=")[0] for word in words if word.strip("[]").startswith("-")]
    return all(each in known or set(each) <= {"-"} for each in asked)
