"""Headers that describe the bytes of an object and are stored with it: encoding, disposition, language, expiry. Pure.

    upload's headers, form fields or TUS metadata -> `ContentHeaders` -> members of the column `metadata` -> download

The members of `metadata` are `contentEncoding`, `contentDisposition`, `contentLanguage` and `expires`. A member that was
not sent is not stored. Source: RFC 9110, 8.4, 8.5; RFC 6266; RFC 9111, 5.3; docs/reference/storage.md, section 6.2.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from schemas.http import Headers
from workers.storage.model.errors import invalid_request
from workers.storage.model.names_and_sizes import check_header_values

_LONGEST = 1000
"""Maximum characters of one header."""
_TRANSFER_CODINGS = ("aws-chunked", "identity")
"""Entries of `Content-Encoding` that do not describe the stored bytes: the frames are removed, `identity` is no coding."""
_CODING = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADERS = {
    "encoding": "content-encoding",
    "disposition": "content-disposition",
    "language": "content-language",
    "expires": "expires",
}
_MEMBERS = {
    "encoding": "contentEncoding",
    "disposition": "contentDisposition",
    "language": "contentLanguage",
    "expires": "expires",
}


@dataclass(frozen=True, slots=True)
class ContentHeaders:
    """The stored headers as texts; empty means not stored."""

    encoding: str = ""
    disposition: str = ""
    language: str = ""
    expires: str = ""

    def members(self) -> dict[str, str]:
        """Return the members of the column `metadata`."""
        return {_MEMBERS[name]: text for name, text in self._texts() if text}

    def headers(self) -> Headers:
        """Return the headers of a response with the object, names in lower case."""
        return [(_HEADERS[name], text) for name, text in self._texts() if text]

    def _texts(self) -> list[tuple[str, str]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]


def content_headers_of_request(header: Callable[[str], str | None]) -> ContentHeaders:
    """Read the headers of an upload; `header` returns one by its lower-case name. Raises: StorageError (400)."""
    return _checked({name: header(wire) or "" for name, wire in _HEADERS.items()})


def content_headers_of_fields(values: Mapping[str, str]) -> ContentHeaders:
    """Read the fields of a form or of TUS metadata, named like the members of `metadata`. Raises: StorageError (400)."""
    return _checked({name: values.get(member, "") for name, member in _MEMBERS.items()})


def stored_content_headers(metadata: Mapping[str, object] | None) -> ContentHeaders:
    """Read the column `metadata`; a member that cannot be sent in a header is left out."""
    texts: dict[str, str] = {}
    for name, member in _MEMBERS.items():
        value = (metadata or {}).get(member)
        if isinstance(value, str) and value.isascii() and value.isprintable():
            texts[name] = value
    return ContentHeaders(**texts)


def without_content_members(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the column `metadata` without these headers, for a copy that replaces them."""
    return {name: value for name, value in metadata.items() if name not in _MEMBERS.values()}


def _checked(texts: Mapping[str, str]) -> ContentHeaders:
    values = {name: text.strip() for name, text in texts.items()}
    check_header_values(*values.values())
    for name, text in values.items():
        if len(text) > _LONGEST or not text.isascii() or not text.isprintable():
            raise invalid_request(
                f"{_HEADERS[name]} must have at most {_LONGEST} printable ASCII characters",
                "invalid_header_char",
            )
    codings = [coding.strip() for coding in values["encoding"].split(",")]
    if not all(_CODING.fullmatch(coding) for coding in codings if coding):
        raise invalid_request("content-encoding must be a list of content codings, such as gzip")
    listed = [coding for coding in codings if coding and coding.lower() not in _TRANSFER_CODINGS]
    return ContentHeaders(**{**values, "encoding": ", ".join(listed)})
