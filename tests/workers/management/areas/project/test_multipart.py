"""Forms are read as they were written, and what is cut, huge or without names is refused."""

import pytest

from workers.management.areas.project.multipart import MAX_PARTS, FormPart, parse_form, render_form
from workers.management.interface.errors import ManagementError


def test_a_form_is_read_as_it_was_rendered() -> None:
    parts = [
        FormPart("metadata", b'{"name": "hello"}'),
        FormPart("file", b"\r\n--not the boundary\r\n\x00\xff", 'with "quotes".ts'),
        FormPart("file", b"", "empty.ts"),
    ]

    assert parse_form(*render_form(parts)) == parts


def test_a_boundary_may_be_quoted_and_parts_have_further_headers() -> None:
    body = (
        b'--a b\r\nContent-Type: text/plain\r\nContent-Disposition: form-data; name="file"; filename="x.ts"\r\n\r\n'
        b"text\r\n--a b--\r\n"
    )

    assert parse_form('multipart/form-data; boundary="a b"', body) == [FormPart("file", b"text", "x.ts")]


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/vnd.denoland.eszip", b"", 415),
        ("multipart/form-data", b"", 415),
        ("multipart/form-data; boundary=x", b"", 400),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1', 400),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n--x--", 400),
        ("multipart/form-data; boundary=x", b"--x\r\nX: y\r\n\r\n1\r\n--x--", 400),
        ("multipart/form-data; boundary=x", b"--x\r\nX: " + b"y" * 9000 + b"\r\n\r\n1\r\n--x--", 400),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n" * (MAX_PARTS + 2) + b"--x--", 413),
    ],
)
def test_what_is_no_whole_form_is_refused(content_type: str, body: bytes, status: int) -> None:
    with pytest.raises(ManagementError) as refused:
        parse_form(content_type, body)

    assert refused.value.status == status
