"""Headers that are stored with an object."""

import pytest

from workers.storage.model.content_headers import (
    ContentHeaders,
    content_headers_of_fields,
    content_headers_of_request,
    stored_content_headers,
    without_content_members,
)
from workers.storage.model.errors import StorageError

ALL = ContentHeaders("gzip", 'attachment; filename="a"', "de, en", "Thu, 01 Dec 2033 16:00:00 GMT")


def test_members_and_headers_name_the_same_texts() -> None:
    assert stored_content_headers(ALL.members()) == ALL
    assert content_headers_of_fields(ALL.members()) == ALL
    assert content_headers_of_request(dict(ALL.headers()).get) == ALL
    assert ContentHeaders().members() == {}
    assert ContentHeaders().headers() == []


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("gzip", "gzip"),
        ("aws-chunked", ""),
        ("gzip,aws-chunked", "gzip"),
        ("AWS-chunked, br", "br"),
        ("identity", ""),
        ("gzip,,br", "gzip, br"),
        ("", ""),
    ],
)
def test_codings_of_the_transfer_are_not_stored(sent: str, stored: str) -> None:
    assert content_headers_of_request({"content-encoding": sent}.get).encoding == stored


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("contentEncoding", "g zip"),
        ("contentEncoding", "gzip; q=1"),
        ("contentDisposition", "a\r\nx: y"),
        ("contentLanguage", "dé"),
        ("expires", "x" * 1001),
    ],
)
def test_what_a_header_cannot_hold_is_rejected(name: str, text: str) -> None:
    with pytest.raises(StorageError) as caught:
        content_headers_of_fields({name: text})

    assert (caught.value.inner, caught.value.code) == (400, "InvalidRequest")


def test_rows_written_by_hand_send_only_what_a_header_can_hold() -> None:
    row = {"contentEncoding": 7, "contentLanguage": "a\nb", "expires": "0", "size": 1}

    assert stored_content_headers(row) == ContentHeaders(expires="0")
    assert stored_content_headers(None) == ContentHeaders()
    assert without_content_members(row) == {"size": 1}
