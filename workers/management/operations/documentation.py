"""Operations on the documentation that is shipped with this version: search its sections, read a page."""

import asyncio
from typing import Annotated

from msgspec import Struct

from workers.management.areas.documentation import SCHEME, read_page, search
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import invalid_arguments, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right

_LONGEST_QUERY = 200
_MOST_SECTIONS = 50
_LONGEST_EXCERPT = 300


class DocumentationSearch(Struct, frozen=True, forbid_unknown_fields=True):
    """Words to look for."""

    text: Annotated[str, limits.text(_LONGEST_QUERY)]
    limit: Annotated[int, limits.number(1, _MOST_SECTIONS)] = 10


class DocumentationMatch(Struct, frozen=True):
    """A section: the page that it is in, its heading, and the beginning of its text in Markdown."""

    page: str
    heading: str
    excerpt: str


class DocumentationReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A page by its name."""

    page: str


class DocumentationPage(Struct, frozen=True):
    """A page in Markdown."""

    page: str
    text: str


async def search_pages(context: OperationContext, arguments: DocumentationSearch) -> list[DocumentationMatch]:
    """Return the sections that fit best, the best first."""
    del context
    if not 1 <= len(arguments.text) <= _LONGEST_QUERY:
        raise invalid_arguments(f"`text` must have 1 to {_LONGEST_QUERY} characters")
    if not 1 <= arguments.limit <= _MOST_SECTIONS:
        raise invalid_arguments(f"`limit` must be 1 to {_MOST_SECTIONS}")
    sections = await asyncio.to_thread(search, arguments.text, arguments.limit)
    return [
        DocumentationMatch(section.uri.removeprefix(SCHEME), section.heading, section.text[:_LONGEST_EXCERPT])
        for section in sections
    ]


async def read(context: OperationContext, arguments: DocumentationReference) -> DocumentationPage:
    """Return a page."""
    del context
    text = await asyncio.to_thread(read_page, arguments.page)
    if text is None:
        raise not_found(f"page {arguments.page[:80]!r} of the documentation; docs.search finds pages")
    return DocumentationPage(arguments.page, text)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader = Right.READER
    return [
        Operation("docs.search", "Search the documentation of this version", DocumentationSearch, list[DocumentationMatch], reader, search_pages),
        Operation("docs.read", "Read a page of the documentation", DocumentationReference, DocumentationPage, reader, read),
    ]  # fmt: skip
