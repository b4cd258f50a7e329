"""Media types: exactly one, compared with what a bucket allows, served so that no browser runs it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.storage.model.errors import StorageError
from workers.storage.model.media_types import (
    BYTES,
    check_mime_type,
    parse_allowed,
    parse_media_type,
    protective_headers,
    served_type,
    stored_media_type,
)

WELL_FORMED = (
    "image/png",
    "IMAGE/PNG",
    "text/plain;charset=UTF-8",
    "text/plain; charset=utf-8",
    "text/plain;",
    "text/plain ; a=b ;; c=d",
    'text/plain; name="a, b; c"',
    'text/plain; name="a\\"b"',
    "application/vnd.api+json",
    "x!#$%&'^_`|~/y",
)
MALFORMED = (
    "",
    "image",
    "image/",
    "/png",
    "image/png,text/html",
    "image/png, text/html",
    "image/png text/html",
    "image/png;text/html",
    "image/png; charset = utf-8",
    "image/png; charset=utf-8, text/html",
    "image/png\ntext/html",
    "image/png\x00",
    'image/png; a="b',
    'image/png; a=b"c"',
    "image/png\u3000",
    "image/*",
    "*/*",
    "*/png",
    "image/png/x",
    "image/<b>",
    "a/" + "b" * 1000,
)


@pytest.mark.parametrize("text", WELL_FORMED)
def test_one_media_type_is_taken_as_it_is(text: str) -> None:
    assert parse_media_type(f" {text}\t") == text
    assert stored_media_type(text) == text


@pytest.mark.parametrize("text", MALFORMED)
def test_anything_else_is_refused_and_served_as_bytes(text: str) -> None:
    with pytest.raises(StorageError) as refused:
        parse_media_type(text)

    assert (refused.value.status, refused.value.inner, refused.value.code) == (400, 400, "InvalidMimeType")
    assert stored_media_type(text) == BYTES
    assert served_type(text) == BYTES


@given(st.text(alphabet='ab/;,= \t"\\*', max_size=40))
def test_a_type_that_is_taken_has_no_comma_outside_of_quotes(text: str) -> None:
    served = stored_media_type(text)

    outside = "".join(served.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    assert "," not in outside
    assert served.partition(";")[0].count("/") == 1


def test_white_space_between_parameters_is_read_once() -> None:
    """A pattern that goes back would take longer than the universe has for this."""
    with pytest.raises(StorageError):
        parse_media_type("a/b" + ";   " * 200 + "@")


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("image/png", ["image/png"]),
        ("image/png", ["image/*"]),
        ("IMAGE/PNG", ["image/png"]),
        ("text/plain;charset=UTF-8", ["text/plain"]),
        ("text/plain", ["text/plain; charset=utf-8"]),
        ("anything", []),
        ("a/b", None),
        ("a/b", ["*/*"]),
        ("a/b", ["*"]),
    ],
)
def test_types_that_a_bucket_takes(asked: str, allowed: list[str] | None) -> None:
    check_mime_type(asked, allowed)


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("image/png", ["image/jpeg"]),
        ("images/png", ["image/*"]),
        ("image", ["image/*"]),
        ("text/html; x=image/png", ["image/png"]),
        ("text/html, image/png", ["image/png"]),
        ("", ["image/*"]),
        ("image/*", ["image/png"]),
    ],
)
def test_types_that_a_bucket_does_not_take(asked: str, allowed: list[str]) -> None:
    with pytest.raises(StorageError) as refused:
        check_mime_type(asked, allowed)

    assert refused.value.body() == {
        "statusCode": "415",
        "error": "invalid_mime_type",
        "message": f"mime type {asked} is not supported",
        "code": "InvalidMimeType",
    }


def test_lists_of_types_are_checked() -> None:
    assert parse_allowed(None) is None
    assert parse_allowed(["", "image/*", "text/plain; charset=utf-8"]) == [
        "image/*",
        "text/plain; charset=utf-8",
    ]
    for bad in ("image", "image/", "a b/c", "x/" + "y" * 1000, "image/png\n"):
        with pytest.raises(StorageError):
            parse_allowed([bad])


def test_pages_are_served_as_text() -> None:
    assert served_type("text/html") == "text/plain"
    assert served_type("Text/HTML; charset=utf-8") == "text/plain"
    assert served_type("application/xhtml+xml") == "text/plain"
    assert served_type("text/css") == "text/css"


@pytest.mark.parametrize("kind", ["image/svg+xml", "text/xml; a=b", "multipart/related", "image/png", BYTES])
def test_every_type_is_served_in_a_sandbox_without_guessing(kind: str) -> None:
    headers = dict(protective_headers(kind))

    policy = {
        directive.split()[0]: directive.split()[1:]
        for directive in headers["content-security-policy"].split(";")
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert (policy["default-src"], policy["sandbox"], "script-src" in policy) == (["'none'"], [], False)


def test_a_pdf_is_shown_but_runs_nothing() -> None:
    policy = dict(protective_headers("Application/PDF; a=b"))["content-security-policy"]

    assert "sandbox" not in policy
    assert "script-src 'none'" in policy
