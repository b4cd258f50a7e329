"""Media types of objects: what is well formed, what a bucket allows, and under which headers bytes are served. Pure.

A type is compared with a bucket's list once, and read by a browser later. Both must see the same one: `image/png,text/html`
begins like an image, and a browser that finds a list takes the last entry. So a type is exactly one media type of RFC 9110,
8.3.1, with well-formed parameters, wherever it comes in (`About` refuses any other). Rows that SQL wrote, or an earlier
release, may hold others: those are served, copied and compared as bytes without a meaning.

Whatever a browser could make a document of (HTML under another name, SVG, XML, MHTML) it receives in a sandbox: without
scripts, forms, and without the API's origin. The policy goes with every object, so that no list of dangerous types can be
incomplete; it has no effect on images, videos and scripts that a page of another origin embeds.
"""

import re
from collections.abc import Sequence

from schemas.http import Headers
from workers.storage.errors import invalid_mime_type, malformed_mime_type

LONGEST = 1000
"""Characters of a media type with its parameters."""
BYTES = "application/octet-stream"
POLICY = "default-src 'none'; img-src 'self' data:; media-src 'self' data:; font-src data:; style-src 'unsafe-inline'; sandbox"
"""Images and videos that are opened alone load themselves (`self`); drawings have styles of their own."""
PDF_POLICY = "script-src 'none'; form-action 'none'; base-uri 'none'"
"""Browsers show no PDF in a sandbox, and their viewers run its scripts apart from the origin that it comes from."""

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*+"'
# Possessive where two repetitions could share white space: else "; ; ; ..." takes exponential time.
_PARAMETERS = rf"(?:[ \t]*+;[ \t]*+(?:{_NAME}=(?:{_NAME}|{_QUOTED}))?+)*+"
_MEDIA_TYPE = re.compile(rf"({_NAME})/({_NAME}){_PARAMETERS}")
_PAGES = ("text/html", "application/xhtml+xml")


def parse_media_type(text: str) -> str:
    """Return a media type without the white space around it. Raises: StorageError (400) if it is not exactly one."""
    media_type = text.strip(" \t")
    if not _is_media_type(media_type):
        raise malformed_mime_type()
    return media_type


def stored_media_type(text: str) -> str:
    """Return a media type that a row holds; one that is not well formed means nothing but bytes."""
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


def refuse_mime_type(mime_type: str, allowed: Sequence[str] | None) -> None:
    """Raises: StorageError (InvalidMimeType) if a bucket does not allow objects of this type. Parameters do not count."""
    if not allowed:
        return
    bare = _bare(mime_type)
    if not any(_allows(_bare(pattern), bare) for pattern in allowed):
        raise invalid_mime_type(mime_type)


def served_type(mime_type: str) -> str:
    """Return the type under which bytes are served: pages are text, so that nobody hosts them on the API's origin."""
    known = stored_media_type(mime_type)
    return "text/plain" if _bare(known) in _PAGES else known


def protective_headers(media_type: str) -> Headers:
    """Return the headers that keep a browser from guessing another type, and from running what an object holds."""
    policy = PDF_POLICY if _bare(media_type) == "application/pdf" else POLICY
    return [("x-content-type-options", "nosniff"), ("content-security-policy", policy)]


def _is_media_type(text: str) -> bool:
    if len(text) > LONGEST:
        return False
    match = _MEDIA_TYPE.fullmatch(text)
    return (
        match is not None and "*" not in match[1] + match[2]
    )  # a range is what a list has, not what an object is


def _bare(mime_type: str) -> str:
    return mime_type.partition(";")[0].strip().lower()


def _allows(pattern: str, bare: str) -> bool:
    if pattern in ("*", "*/*"):
        return True
    return bare.startswith(pattern[:-1]) if pattern.endswith("/*") else bare == pattern
