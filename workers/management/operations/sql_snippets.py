"""Operations on snippets: SQL that people keep as files of the project folder (`snippets/*.sql`)."""

import asyncio

from msgspec import Struct

from workers.management.areas.project_texts import folder_errors, folder_of_texts
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.project.snippet_files import (
    LONGEST_SNIPPET,
    SnippetFile,
    list_snippets,
    read_snippet,
    remove_snippet,
    write_snippet,
)


class SnippetList(Struct, frozen=True):
    """The snippets by name; `folder_is_known`: whether this process sees the project folder at all."""

    snippets: list[SnippetFile]
    folder_is_known: bool


class SnippetReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A snippet by its name."""

    name: str


class SnippetText(Struct, frozen=True):
    """A snippet and its text."""

    name: str
    text: str


class SavedSnippet(Struct, frozen=True, forbid_unknown_fields=True):
    """A snippet to write. `replaces`: although there is one of this name."""

    name: str
    text: str
    replaces: bool = False


async def list_all(context: OperationContext, arguments: NoArguments) -> SnippetList:
    """Return the snippets of the project folder, 500 at most."""
    del arguments
    folder = context.settings.project_folder
    if folder is None or not folder.is_dir():
        return SnippetList([], False)
    with folder_errors("snippet", ""):
        return SnippetList(await asyncio.to_thread(list_snippets, folder), True)


async def read(context: OperationContext, arguments: SnippetReference) -> SnippetText:
    """Return the text of a snippet."""
    folder = folder_of_texts(context, arguments.name)
    with folder_errors("snippet", arguments.name):
        return SnippetText(arguments.name, await asyncio.to_thread(read_snippet, folder, arguments.name))


async def save(context: OperationContext, arguments: SavedSnippet) -> Done:
    """Write a snippet as a file of the project folder. A snippet of this name stays unless `replaces` is on."""
    folder = folder_of_texts(context, arguments.name)
    if len(arguments.text.encode()) > LONGEST_SNIPPET or "\0" in arguments.text:
        raise invalid_arguments(f"`text` may have {LONGEST_SNIPPET} bytes, and no NUL")
    with folder_errors("snippet", arguments.name):
        await asyncio.to_thread(
            write_snippet, folder, arguments.name, arguments.text, replaces=arguments.replaces
        )
    return Done()


async def remove(context: OperationContext, arguments: SnippetReference) -> Done:
    """Remove a snippet from the project folder. Its text goes into the audit row."""
    folder = folder_of_texts(context, arguments.name)
    with folder_errors("snippet", arguments.name):
        context.before = await asyncio.to_thread(read_snippet, folder, arguments.name)
        await asyncio.to_thread(remove_snippet, folder, arguments.name)
    return Done()


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("snippets.list", "List the snippets of the project folder", NoArguments, SnippetList, reader, list_all),
        Operation("snippets.read", "Read a snippet", SnippetReference, SnippetText, reader, read),
        Operation("snippets.save", "Save SQL as a file of the project folder", SavedSnippet, Done, developer, save, changes=True),
        Operation("snippets.remove", "Remove a snippet", SnippetReference, Done, developer, remove, changes=True),
    ]  # fmt: skip
