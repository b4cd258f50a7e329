"""Media types of objects: which are well formed, which a bucket allows, and with which headers bytes are served. Pure.

A type is compared with a bucket's list at the upload and read by a browser later. Both must read the same type:
`image/png,text/html` begins like an image, but a browser that finds a list takes the last entry. So a type is exactly
one media type of RFC 9110, 8.3.1, with well-formed parameters; `ObjectAttributes` rejects any other. Rows that SQL or
an earlier release wrote may hold others: those are served, copied and compared as `application/octet-stream`.

Any object that a browser could open as a document (HTML under another name, SVG, XML, MHTML) is served in a sandbox: no
scripts, no forms, not in the API's origin. Every object has this policy, so an incomplete list of dangerous types
cannot cause harm; it does not affect images, videos and scripts that a page of another origin embeds.
"""

import re
from collections.abc import Sequence

from schemas.http import Headers
from workers.storage.model.errors import invalid_mime_type, malformed_mime_type

LONGEST = 1000
"""Maximum characters of a media type with its parameters."""
BYTES = "application/octet-stream"
POLICY = "default-src 'none'; img-src 'self' data:; media-src 'self' data:; font-src data:; style-src 'unsafe-inline'; sandbox"
"""Images and videos that are opened alone load themselves (`self`); SVG drawings use inline styles."""
PDF_POLICY = "script-src 'none'; form-action 'none'; base-uri 'none'"
"""Browsers do not show a PDF in a sandbox; their viewers run its scripts outside of the API's origin."""

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*+"'
# Danger: two repetitions could match the same white space, and "; ; ; ..." would take exponential time: so possessive.
_PARAMETERS = rf"(?:[ \t]*+;[ \t]*+(?:{_NAME}=(?:{_NAME}|{_QUOTED}))?+)*+"
_MEDIA_TYPE = re.compile(rf"({_NAME})/({_NAME}){_PARAMETERS}")
_PAGES = ("text/html", "application/xhtml+xml")


def parse_media_type(text: str) -> str:
    """Return a media type without surrounding white space. Raises: StorageError (400) if it is not exactly one."""
    media_type = text.strip(" \t")
    if not _is_media_type(media_type):
        raise malformed_mime_type()
    return media_type


def stored_media_type(text: str) -> str:
    """Return the media type of a row; one that is not well formed becomes `application/octet-stream`."""
    media_type = text.strip(" \t")
    return media_type if _is_media_type(media_type) else BYTES


def parse_allowed(texts: Sequence[str] | None) -> list[str] | None:
    """Return the media types that a bucket allows; empty texts are dropped. Raises: StorageError (InvalidMimeType)."""
    if texts is None:
        return None
    allowed = [text for text in texts if text]
    for text in allowed:
        if text != "*" and not (len(text) <= LONGEST and _MEDIA_TYPE.fullmatch(text)):
            raise invalid_mime_type(text)
    return allowed


def check_mime_type(mime_type: str, allowed: Sequence[str] | None) -> None:
    """Raises: StorageError (InvalidMimeType) if a bucket does not allow objects of this type. Parameters do not count."""
    if not allowed:
        return
    bare = _bare(mime_type)
    if not any(_allows(_bare(pattern), bare) for pattern in allowed):
        raise invalid_mime_type(mime_type)


def served_type(mime_type: str) -> str:
    """Return the type in the response: HTML becomes plain text, so that the API's origin cannot host pages."""
    media_type = stored_media_type(mime_type)
    return "text/plain" if _bare(media_type) in _PAGES else media_type


def protective_headers(media_type: str) -> Headers:
    """Return the headers that stop a browser from guessing the type and from running the content."""
    policy = PDF_POLICY if _bare(media_type) == "application/pdf" else POLICY
    return [("x-content-type-options", "nosniff"), ("content-security-policy", policy)]


def _is_media_type(text: str) -> bool:
    if len(text) > LONGEST:
        return False
    match = _MEDIA_TYPE.fullmatch(text)
    return (
        match is not None and "*" not in match[1] + match[2]
    )  # a range is allowed in a bucket's list, not as an object's type


def _bare(mime_type: str) -> str:
    return mime_type.partition(";")[0].strip().lower()


def _allows(pattern: str, bare: str) -> bool:
    if pattern in ("*", "*/*"):
        return True
    return bare.startswith(pattern[:-1]) if pattern.endswith("/*") else bare == pattern
