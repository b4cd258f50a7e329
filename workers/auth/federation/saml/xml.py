"""XML of others, read without its dangers. Every document that SAML brings passes `parse`.

No DTD, no entity, no network, no huge tree; UTF-8 whatever the document says of itself, so that nothing hides in
another encoding; comments and processing instructions are gone before anybody reads a text, so that none cuts it short.
Source: reference page "auth", section 13; XML 1.0, 2.8.
"""

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree  # type: ignore[import-untyped]  # ships no types

MOST_BYTES = 1024 * 1024

PROTOCOL = "urn:oasis:names:tc:SAML:2.0:protocol"
ASSERTION = "urn:oasis:names:tc:SAML:2.0:assertion"
METADATA = "urn:oasis:names:tc:SAML:2.0:metadata"
SIGNATURE = "http://www.w3.org/2000/09/xmldsig#"
ENCRYPTION = "http://www.w3.org/2001/04/xmlenc#"
ENCRYPTION_11 = "http://www.w3.org/2009/xmlenc11#"

POST_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
REDIRECT_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"

_NEVER = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)

Element = Any
"""An element of lxml, which ships no types."""


class BadXml(ValueError):
    """A document is no XML, or more than it may be. Its text says why, in our own words."""


def parser() -> Any:
    """Make a parser for documents of others."""
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


def parse(data: bytes, most: int = MOST_BYTES) -> Element:
    """Read a document and give its root. Raises: BadXml."""
    if len(data) > most:
        raise BadXml(f"it is longer than {most} bytes")
    if _NEVER.search(data):
        raise BadXml("it has a DOCTYPE")
    try:
        root = etree.fromstring(data, parser())
    except (etree.XMLSyntaxError, ValueError):
        raise BadXml("it is no well-formed XML in UTF-8") from None
    info = root.getroottree().docinfo
    if info.internalDTD is not None or info.externalDTD is not None or info.doctype:
        raise BadXml("it has a DOCTYPE")
    if next(root.iter(etree.Entity), None) is not None:
        raise BadXml("it has entities")
    return root


def written(element: Element) -> bytes:
    """Write an element as a document of its own, with the namespaces that it stands under."""
    return bytes(etree.tostring(element, with_tail=False))


def name(namespace: str, local: str) -> str:
    """Give the whole name of an element."""
    return f"{{{namespace}}}{local}"


def child(element: Element, namespace: str, local: str) -> Element | None:
    """Give the first child of a name."""
    return element.find(name(namespace, local))


def children(element: Element, namespace: str, local: str) -> list[Element]:
    """Give the children of a name."""
    return list(element.findall(name(namespace, local)))


def descendants(element: Element, namespace: str, local: str) -> list[Element]:
    """Give the element itself and all below it that have a name."""
    return list(element.iter(name(namespace, local)))


def elements(element: Element) -> Iterator[Element]:
    """Give the children that are elements."""
    return (each for each in element if isinstance(each.tag, str))


def text(element: Element | None) -> str:
    """Give the text of an element that has nothing else inside, without blanks around it; empty without one."""
    if element is None or len(element):
        return ""
    return (element.text or "").strip()


def attribute(element: Element, local: str) -> str:
    """Give an attribute without a namespace, empty without it."""
    return str(element.get(local) or "")


def made(namespace: str, local: str, prefixes: dict[str | None, str], **attributes: str) -> Element:
    """Make the root of a document of ours."""
    return etree.Element(name(namespace, local), attributes, nsmap=prefixes)


def add(parent: Element, namespace: str, local: str, value: str = "", **attributes: str) -> Element:
    """Add a child with a text."""
    element = etree.SubElement(parent, name(namespace, local), attributes)
    if value:
        element.text = value
    return element
