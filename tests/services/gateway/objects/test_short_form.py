"""Simple forms are read to the same fields and bytes by both readers; what is not simple is left to the HTTP library."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.gateway.objects.short_form import parse_short_form
from services.gateway.objects.upload_body import read_any_form, read_form

_NAMES = st.sampled_from(
    ["", "file", "a", "metadata", "cacheControl", "_charset_", "a b", 'a\\"b', "é", "%22", "..", "/x"]
)
_TYPES = st.sampled_from([
    None, "text/plain", "application/octet-stream", "image/svg+xml", "text/plain; charset=utf-8", "Text/Plain",
    "multipart/mixed; boundary=y", "multipart/mixed", "text", "text/plain;a=b",
])  # fmt: skip
_CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([
        b"", b"\r\n", b"--x", b"\r\n--", b"\r\n--x", b"\r\n--xy\r\n", b"\r\n--x--", b"a\r\n--x\r\nb", b"\r", b"\n--x\r\n", b"\xff\xfe",
        b"text\r\n\r\nmore",
    ]),
)  # fmt: skip


@st.composite
def _parts(draw: st.DrawFn) -> bytes:
    head = f'Content-Disposition: form-data; name="{draw(_NAMES)}"'
    if draw(st.booleans()):
        head += f'; filename="{draw(_NAMES)}"'
    if (media_type := draw(_TYPES)) is not None:
        head += f"\r\nContent-Type: {media_type}"
    if draw(st.integers(0, 9)) == 0:
        head += "\r\n" + draw(
            st.sampled_from(["X-Other: 1", "Content-Transfer-Encoding: base64", "Content-Length: 3"])
        )
    return head.encode() + b"\r\n\r\n" + draw(_CONTENTS) + b"\r\n"


@example([b'Content-Disposition: form-data; name=""\r\n\r\n--x\r\n'], b"--x--", "boundary=x")
@given(
    st.lists(_parts(), max_size=13),
    st.sampled_from([b"--x--\r\n", b"--x--", b"--x--\r\n\r\n", b"--x\r\n", b"", b"--x--epilogue"]),
    st.sampled_from(["boundary=x", 'boundary="x"', "charset=a; boundary=x", "boundary=y", "boundary="]),
)
async def test_both_readers_agree(parts: list[bytes], end: bytes, parameter: str) -> None:
    content_type = f"multipart/form-data; {parameter}"
    data = b"".join(b"--x\r\n" + part for part in parts) + end
    quick, usual = read_form(content_type, data), read_any_form(content_type, data)

    assert (quick is None) == (usual is None)
    if quick is not None and usual is not None:
        assert quick[1] == usual[1]
        assert quick[0].fields == usual[0].fields
        assert (quick[0].content_type, quick[0].is_form) == (usual[0].content_type, usual[0].is_form)


@pytest.mark.parametrize("end", ["--", "--\r\n"])
def test_the_form_of_a_browser_is_simple(end: str) -> None:
    boundary = "----WebKitFormBoundaryAb_9-1"
    data = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="cacheControl"\r\n\r\n3600\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name=""; filename="my cat.png"\r\nContent-Type: image/png\r\n\r\n'
        f"\r\nbytes\r\n--{boundary}{end}"
    ).encode()

    parts = parse_short_form(f"multipart/form-data; boundary={boundary}", data)

    assert parts is not None
    assert [tuple(part) for part in parts] == [
        ("cacheControl", None, "", b"3600"),
        ("", "my cat.png", "image/png", b"\r\nbytes"),
    ]
