"""Elements of SAML documents: parsed, found, built, serialized. Every document from an identity provider goes through `parse`.

Source: docs/reference/auth.md, section 13.
"""

from collections.abc import Iterator
from typing import Any

from lxml import etree  # type: ignore[import-untyped]  # ships no types

from workers.untrusted_xml import untrusted_root

MOST_BYTES = 1024 * 1024

PROTOCOL = "urn:oasis:names:tc:SAML:2.0:protocol"
ASSERTION = "urn:oasis:names:tc:SAML:2.0:assertion"
METADATA = "urn:oasis:names:tc:SAML:2.0:metadata"
SIGNATURE = "http://www.w3.org/2000/09/xmldsig#"
ENCRYPTION = "http://www.w3.org/2001/04/xmlenc#"
ENCRYPTION_11 = "http://www.w3.org/2009/xmlenc11#"

POST_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
REDIRECT_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"

Element = Any
"""An element of lxml, which ships no types."""


def parse(data: bytes, most: int = MOST_BYTES) -> Element:
    """Parse a document and return its root. Raises: BadXml."""
    return untrusted_root(data, most)


def serialize(element: Element) -> bytes:
    """Serialize an element as a document of its own, with the namespaces in scope."""
    return bytes(etree.tostring(element, with_tail=False))


def qualified_name(namespace: str, local: str) -> str:
    """Return the qualified name of an element."""
    return f"{{{namespace}}}{local}"


def child(element: Element, namespace: str, local: str) -> Element | None:
    """Return the first child with a name."""
    return element.find(qualified_name(namespace, local))


def children(element: Element, namespace: str, local: str) -> list[Element]:
    """Return the children with a name."""
    return list(element.findall(qualified_name(namespace, local)))


def descendants(element: Element, namespace: str, local: str) -> list[Element]:
    """Return the element itself and its descendants, as far as they have a name."""
    return list(element.iter(qualified_name(namespace, local)))


def elements(element: Element) -> Iterator[Element]:
    """Return the children that are elements."""
    return (node for node in element if isinstance(node.tag, str))


def text(element: Element | None) -> str:
    """Return the stripped text of an element; empty for None or an element with children."""
    if element is None or len(element):
        return ""
    return (element.text or "").strip()


def attribute(element: Element, local: str) -> str:
    """Return an attribute without a namespace; empty if it is absent."""
    return str(element.get(local) or "")


def new_root(namespace: str, local: str, prefixes: dict[str | None, str], **attributes: str) -> Element:
    """Create the root of a document."""
    return etree.Element(qualified_name(namespace, local), attributes, nsmap=prefixes)


def add(parent: Element, namespace: str, local: str, value: str = "", **attributes: str) -> Element:
    """Append a child with a text."""
    element = etree.SubElement(parent, qualified_name(namespace, local), attributes)
    if value:
        element.text = value
    return element
