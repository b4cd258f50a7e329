"""Parses XML that a client or another service wrote. All such documents go through here, whatever their limits and errors are.

No DTD and no entities (entity expansion, file access), no network, no huge tree. UTF-8 whatever the document declares, so that
nothing hides in another encoding. Comments and processing instructions are removed: in `admin<!---->@example.com` one would
end the text early. Source: XML 1.0, 2.8.
"""

import re
from typing import Any

from lxml import etree  # type: ignore[import-untyped]  # ships no types

_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class BadXml(ValueError):
    """A document is not well-formed, too long, or has a forbidden part. The text gives the reason without quoting it."""


def untrusted_root(data: bytes, most: int) -> Any:
    """Parse a document of at most `most` bytes and return its root, an element of lxml. Raises: BadXml."""
    if len(data) > most:
        raise BadXml(f"it is longer than {most} bytes")
    if _DECLARATION.search(data):
        raise BadXml("it has a DOCTYPE")
    try:
        root = etree.fromstring(data, untrusted_parser())
    except (etree.XMLSyntaxError, ValueError):
        raise BadXml("it is no well-formed XML in UTF-8") from None
    info = root.getroottree().docinfo
    if info.internalDTD is not None or info.externalDTD is not None or info.doctype:
        raise BadXml("it has a DOCTYPE")
    if next(root.iter(etree.Entity), None) is not None:
        raise BadXml("it has entities")
    return root


def untrusted_parser() -> Any:
    """Return a parser that reads nothing but the bytes it is given."""
    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
