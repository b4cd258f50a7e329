"""XML of the S3 endpoint: write responses, parse bodies of clients safely. Pure.

Parsing: as `workers/untrusted_xml.py` does, of bounded size and depth. Names are compared without their
namespace, because some clients send it and others do not. Writing: a tree of pairs; every text is escaped.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

from schemas.http import Response
from workers.storage.s3.protocol.errors import S3Error, malformed_xml
from workers.untrusted_xml import BadXml, untrusted_root

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
MOST_BYTES = 2 * 1024 * 1024
TYPE = [("content-type", "application/xml")]
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_UNFIT = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 cannot hold; each is replaced by U+FFFD."""

Value: TypeAlias = "str | int | bool | Sequence[Item]"
Item = tuple[str, Value]
"""An element: its name, which literal attributes may follow, and its text or its children."""


@dataclass(frozen=True, slots=True)
class XmlNode:
    """A parsed element: its name without namespace, its text, its children."""

    name: str
    text: str = ""
    children: "tuple[XmlNode, ...]" = field(default=())

    def all(self, name: str) -> "list[XmlNode]":
        """Return the children with a name."""
        return [child for child in self.children if child.name == name]

    def value(self, name: str) -> str | None:
        """Return the text of the first child with a name, or None."""
        return next((child.text for child in self.children if child.name == name), None)


def xml_response(name: str, items: Sequence[Item], status: int = 200) -> Response:
    """Return a response with one element."""
    return Response(status, TYPE, document(name, items))


def error_response(error: S3Error, resource: str, request_id: str) -> Response:
    """Return an error without a namespace: with one, boto does not find its code."""
    items: list[Item] = [("Resource", resource), ("Code", error.code), ("Message", error.message)]
    items += [*error.details.items(), ("RequestId", request_id)]
    return Response(error.status, [*TYPE, *error.headers()], document("Error", items, namespace=""))


def document(name: str, items: Sequence[Item], namespace: str = NAMESPACE) -> bytes:
    """Return a document with one root element."""
    body = "".join(_written(item) for item in items)
    attribute = f' xmlns="{namespace}"' if namespace else ""
    return f"{_HEAD}<{name}{attribute}>{body}</{name}>".encode()


def text_document(name: str, text: str) -> bytes:
    """Return a document whose root holds a text."""
    return f'{_HEAD}<{name} xmlns="{NAMESPACE}">{escape(text)}</{name}>'.encode()


def _written(item: Item) -> str:
    name, value = item
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str | int):
        text = escape(_UNFIT.sub("\ufffd", str(value))).replace("\r", "&#13;").replace('"', "&quot;")
    else:
        text = "".join(_written(child) for child in value)
    return f"<{name}>{text}</{name.partition(' ')[0]}>"


def read(data: bytes, name: str) -> XmlNode:
    """Parse a document whose root has this name. Raises: S3Error (MalformedXML)."""
    try:
        node = _node(untrusted_root(data, MOST_BYTES), 0)
    except BadXml:
        raise malformed_xml() from None
    if node.name != name:
        raise malformed_xml()
    return node


_DEEPEST = 8


def _node(element: Any, depth: int) -> XmlNode:
    if depth > _DEEPEST:
        raise malformed_xml()
    children = tuple(_node(child, depth + 1) for child in element)
    name = str(element.tag).rpartition("}")[2]
    return XmlNode(name, "" if children else str(element.text or ""), children)
