"""XML of clients, and what attackers send for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree  # type: ignore[import-untyped]  # ships no types

from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error

LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE Delete [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    b"<Delete><Object><Key>&b;</Key></Object></Delete>"
)
OUTSIDE = b'<!DOCTYPE Delete [<!ENTITY x SYSTEM "file:///etc/passwd">]><Delete><Object><Key>&x;</Key></Object></Delete>'


@pytest.mark.parametrize("namespace", ["", f' xmlns="{xml.NAMESPACE}"'])
def test_a_document_is_read_with_and_without_its_namespace(namespace: str) -> None:
    data = f"<Delete{namespace}><Quiet>true</Quiet><Object><Key>a &amp; b/\u00e9</Key></Object><Object/></Delete>"

    node = xml.read(data.encode(), "Delete")

    assert node.value("Quiet") == "true"
    assert [each.value("Key") for each in node.all("Object")] == ["a & b/\u00e9", None]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no xml",
        b"<Delete>",
        b"<Other/>",
        LAUGHS,
        OUTSIDE,
        OUTSIDE.replace(b"DOCTYPE", b"doctype"),
        LAUGHS.decode().encode("utf-16"),
        b'<!DOCTYPE Delete SYSTEM "http://localhost/x.dtd"><Delete/>',
        b"<Delete><Object><Key>&unknown;</Key></Object></Delete>",
        b"<Delete>" + b"<a>" * 300 + b"</a>" * 300 + b"</Delete>",
        b"<Delete>\xff\xfe</Delete>",
        b"<Delete>" + b" " * xml.MOST_BYTES + b"</Delete>",
    ],
)
def test_what_is_not_well_is_malformed(data: bytes) -> None:
    with pytest.raises(S3Error) as refused:
        xml.read(data, "Delete")

    assert (refused.value.code, refused.value.status) == ("MalformedXML", 400)


def test_a_comment_does_not_cut_a_text() -> None:
    assert xml.read(b"<D><Key>a<!-- x -->b</Key></D>", "D").value("Key") == "ab"


@given(st.text())
def test_every_text_can_be_written_and_read(text: str) -> None:
    data = xml.document("Result", [("Key", text), ("Size", 3), ("Is", True), ("Inner", [("Key", text)])])

    root = etree.fromstring(data)

    assert root.tag == f"{{{xml.NAMESPACE}}}Result"
    shown = root[0].text or ""
    assert len(shown) == len(text)
    assert all(got == meant or got == "\ufffd" for got, meant in zip(shown, text, strict=True))
    assert [root[1].text, root[2].text, root[3][0].text or ""] == ["3", "true", shown]


@given(st.binary(max_size=400))
def test_any_bytes_give_a_node_or_a_refusal(data: bytes) -> None:
    for body in (data, b"<Delete>" + data + b"</Delete>"):
        try:
            assert xml.read(body, "Delete").name == "Delete"
        except S3Error as error:
            assert error.code == "MalformedXML"  # noqa: PT017 - either way is right
