"""Forms as most clients write them, read at once from their bytes; every other form is left to the reader of the HTTP library. Pure. Hot path.

A form is read here only if it consists, from the first byte to the last, of what is listed:

    content type   multipart/form-data; boundary=..., of letters, digits, `_` and `-`, without quotes
    part           --boundary, Content-Disposition with a quoted name and maybe a file name, maybe Content-Type, an empty line, content
    end            --boundary--, maybe a line end

A boundary inside of a content, a further header, or a character in a name that could be escaped are none of that.
`upload_body.py` says which part is the file; a test compares both readers. Source: RFC 7578; RFC 2046, 5.1.1.
"""

import re
from typing import NamedTuple

_CONTENT_TYPE = re.compile(r"multipart/form-data; ?boundary=([A-Za-z0-9_-]{1,70})")
_PART = re.compile(
    rb'Content-Disposition: form-data; name="([A-Za-z0-9_.-]*)"(?:; filename="([A-Za-z0-9_.-][A-Za-z0-9_. -]*|)")?\r\n'
    rb"(?:Content-Type: (?!multipart)([a-z0-9.+-]+/[a-z0-9.+-]+(?:; ?charset=[A-Za-z0-9-]+)?)\r\n)?\r\n"
)
_MOST_PARTS = 11
_CHARSET = "_charset_"
"""The name of a field that says how the others are encoded."""


class ShortFormPart(NamedTuple):
    """One part; `content_type` is empty without one."""

    name: str
    filename: str | None
    content_type: str
    content: bytes


def parse_short_form(content_type: str, data: bytes) -> list[ShortFormPart] | None:
    """Return the parts of a form in their order; None if it is not of the simple kind."""
    match = _CONTENT_TYPE.fullmatch(content_type)
    if match is None:
        return None
    opening = b"--" + match[1].encode("ascii")
    delimiter = b"\r\n" + opening
    if not data.startswith(opening + b"\r\n"):
        return None
    parts: list[ShortFormPart] = []
    place = len(opening) + 2
    while len(parts) < _MOST_PARTS:
        head = _PART.match(data, place)
        end = -1 if head is None else data.find(delimiter, head.end())
        if head is None or end < 0:
            return None
        name, filename, kind = (None if text is None else text.decode("ascii") for text in head.groups())
        content = data[head.end() : end]
        if name is None or name == _CHARSET or opening in content:
            return None
        parts.append(ShortFormPart(name, filename, kind or "", content))
        place = end + len(delimiter)
        if data[place:] in (b"--\r\n", b"--"):
            return parts
        if not data.startswith(b"\r\n", place):
            return None
        place += 2
    return None
