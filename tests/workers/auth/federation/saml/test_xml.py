"""XML of others: what is refused before it can do harm."""

import pytest

from workers.auth.federation.saml import xml
from workers.auth.federation.saml.xml import parse
from workers.untrusted_xml import BadXml


def entities(levels: int) -> str:
    lines = ['<!ENTITY l0 "lol">']
    lines += [f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, levels)]
    return f"<!DOCTYPE a [{''.join(lines)}]><a>&l{levels - 1};</a>"


@pytest.mark.parametrize(
    "text",
    [
        entities(10),
        "<!DOCTYPE a><a/>",
        "<!doctype a><a/>",
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd"><a/>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]><a/>',
        '<!DOCTYPE a [<!ATTLIST a ID CDATA "x">]><a/>',
        "<a><!-- <!DOCTYPE b> --></a>",
    ],
)
def test_a_document_with_a_doctype_is_refused(text: str):
    with pytest.raises(BadXml, match="DOCTYPE"):
        parse(text.encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037"])
def test_a_document_in_another_encoding_is_refused(encoding: str):
    text = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'

    with pytest.raises(BadXml):
        parse(text.encode(encoding))


def test_the_encoding_that_a_document_names_does_not_count():
    hidden = '<?xml version="1.0" encoding="UTF-7"?><a>+ADw-b+AD4-+ADw-/b+AD4-</a>'
    latin = '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'

    assert parse(hidden.encode()).find("b") is None
    assert parse(latin.encode()).text == "é"
    with pytest.raises(BadXml):
        parse(latin.encode("latin-1"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no xml",
        b"<a>",
        b"<a/><b/>",
        b"<a>\x00</a>",
        b"<a>&#0;</a>",
        b"<a>&unknown;</a>",
        b"\xff<a/>",
        b"<a>" * 300 + b"</a>" * 300,
    ],
)
def test_what_is_not_well_formed_or_too_deep_is_refused(data: bytes):
    with pytest.raises(BadXml):
        parse(data)


def test_a_long_document_is_refused_before_it_is_read():
    with pytest.raises(BadXml, match="longer than 100 bytes"):
        parse(b"<" * 101, most=100)
    with pytest.raises(BadXml, match="longer"):
        parse(b"<a>" + b" " * xml.MOST_BYTES + b"</a>")


@pytest.mark.parametrize(
    "inside",
    ["ad<!-- x -->min", "<!-- x -->admin", "ad<?x y?>min", "ad<![CDATA[mi]]>n", "&#97;dmin", " admin\n"],
)
def test_nothing_cuts_a_text_short(inside: str):
    assert xml.text(parse(f"<a>{inside}</a>".encode())) == "admin"


def test_a_text_with_an_element_inside_is_none():
    assert xml.text(parse(b"<a>admin<b/>.evil</a>")) == ""
    assert xml.text(None) == ""


def test_a_mark_of_the_byte_order_does_not_matter():
    assert parse(b"\xef\xbb\xbf<a/>").tag == "a"


def test_an_element_is_written_alone_with_its_namespaces():
    root = parse(b'<p:a xmlns:p="urn:p" xmlns:q="urn:q"><q:b>x</q:b> after</p:a>')

    alone = parse(xml.serialize(root[0]))

    assert alone.tag == "{urn:q}b"
    assert alone.nsmap == {"p": "urn:p", "q": "urn:q"}
