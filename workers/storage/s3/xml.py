"""XML of the S3 endpoint: answers are written, bodies of clients are read without the dangers of XML. Pure.

Read: no DTD, no entities, nothing from the network, bounded size and depth, UTF-8 only. Names count without their
namespace, for clients send them with and without. Written: a tree of pairs, every text escaped.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from xml.sax.saxutils import escape

from lxml import etree  # type: ignore[import-untyped]  # ships no types

from schemas.http import Response
from workers.storage.s3.errors import S3Error, malformed_xml

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
MOST_BYTES = 2 * 1024 * 1024
TYPE = [("content-type", "application/xml")]
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_NEVER = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_UNFIT = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What XML 1.0 cannot hold; a replacement stands for it."""

Value: TypeAlias = "str | int | bool | Sequence[Item]"
Item = tuple[str, Value]
"""An element: its name, and a text or the elements in it."""


@dataclass(frozen=True, slots=True)
class Node:
    """An element that was read: its name without namespace, its text, the elements in it."""

    name: str
    text: str = ""
    children: "tuple[Node, ...]" = field(default=())

    def all(self, name: str) -> "list[Node]":
        """Give the elements of a name."""
        return [each for each in self.children if each.name == name]

    def value(self, name: str) -> str | None:
        """Give the text of the first element of a name; None if there is none."""
        return next((each.text for each in self.children if each.name == name), None)


def answer(name: str, items: Sequence[Item], status: int = 200) -> Response:
    """Give an answer of one element."""
    return Response(status, TYPE, document(name, items))


def refusal(error: S3Error, resource: str, request_id: str) -> Response:
    """Give a refusal: it has no namespace, else boto does not find its code."""
    items: list[Item] = [("Resource", resource), ("Code", error.code), ("Message", error.message)]
    items += [*error.details.items(), ("RequestId", request_id)]
    return Response(error.status, [*TYPE, *error.headers()], document("Error", items, namespace=""))


def document(name: str, items: Sequence[Item], namespace: str = NAMESPACE) -> bytes:
    """Write a document of one element."""
    body = "".join(_written(each) for each in items)
    own = f' xmlns="{namespace}"' if namespace else ""
    return f"{_HEAD}<{name}{own}>{body}</{name}>".encode()


def text_document(name: str, text: str) -> bytes:
    """Write a document of one element that holds a text."""
    return f'{_HEAD}<{name} xmlns="{NAMESPACE}">{escape(text)}</{name}>'.encode()


def _written(item: Item) -> str:
    name, value = item
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str | int):
        text = escape(_UNFIT.sub("\ufffd", str(value))).replace("\r", "&#13;").replace('"', "&quot;")
    else:
        text = "".join(_written(each) for each in value)
    return f"<{name}>{text}</{name}>"


def read(data: bytes, name: str) -> Node:
    """Read a document whose root has this name. Raises: S3Error (MalformedXML)."""
    if not data or len(data) > MOST_BYTES or _NEVER.search(data):
        raise malformed_xml()
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise malformed_xml() from None
    info = root.getroottree().docinfo
    if (
        info.internalDTD is not None
        or info.externalDTD is not None
        or next(root.iter(etree.Entity), None) is not None
    ):
        raise malformed_xml()
    node = _node(root, 0)
    if node.name != name:
        raise malformed_xml()
    return node


_DEEPEST = 8


def _node(element: "etree._Element", depth: int) -> Node:
    if depth > _DEEPEST:
        raise malformed_xml()
    children = tuple(_node(child, depth + 1) for child in element)
    name = str(element.tag).rpartition("}")[2]
    return Node(name, "" if children else str(element.text or ""), children)
