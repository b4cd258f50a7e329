"""Forms of `multipart/form-data` with files, as the official command line sends and reads them. Pure.

A body is parts between lines `--boundary`; each part has header lines, an empty line and its bytes; the last line is
`--boundary--`. Source: RFC 2046, 5.1.1; RFC 7578.
"""

import re
import secrets
from collections.abc import Iterable

from msgspec import Struct

from workers.management.interface.errors import ManagementError, invalid_arguments

MAX_PARTS = 5_010
_MAX_HEAD_BYTES = 8 * 1024
_BOUNDARY = re.compile(
    r"""boundary=(?:"([0-9a-z'()+_,./:=? -]{1,70})"|([0-9a-z'()+_,./:=?-]{1,70}))""", re.IGNORECASE | re.ASCII
)
_PARAMETER = re.compile(r';\s*(\w+)="((?:[^"\\]|\\.)*)"')


class FormPart(Struct, frozen=True):
    """One part: the field's name, the file's name where it has one, its bytes, and further headers to send."""

    name: str
    content: bytes
    filename: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def parse_form(content_type: str, body: bytes) -> list[FormPart]:
    """Return the parts of a form. Raises: ManagementError (400, 413, 415)."""
    boundary = _BOUNDARY.search(content_type)
    if not content_type.lower().startswith("multipart/form-data") or boundary is None:
        raise ManagementError(
            415,
            "not_a_form",
            "This takes multipart/form-data with the source files, not a bundle",
            hint="Add --use-api: the platform bundles functions itself.",
        )
    delimiter = b"--" + (boundary[1] or boundary[2]).encode()
    parts = (b"\r\n" + body).split(b"\r\n" + delimiter, MAX_PARTS + 2)
    if len(parts) > MAX_PARTS + 1:
        raise ManagementError(413, "too_large", f"The form has more than {MAX_PARTS} parts")
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise invalid_arguments("The form does not end with its boundary: the body is cut")
    return [_part(part) for part in parts[1:-1]]


def _part(data: bytes) -> FormPart:
    head, gap, content = data.partition(b"\r\n\r\n")
    if not gap or len(head) > _MAX_HEAD_BYTES:
        raise invalid_arguments("A part of the form has no header, or a very long one")
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition":
            parameters = {key.lower(): _unquoted(text) for key, text in _PARAMETER.findall(value)}
            return FormPart(parameters.get("name", ""), content, parameters.get("filename", ""))
    raise invalid_arguments("A part of the form has no Content-Disposition")


def _unquoted(text: str) -> str:
    """Return a quoted parameter as browsers write it: `%22`, `%0D` and `%0A` stand for what would end it."""
    for escape, character in (("%22", '"'), ("%0D", "\r"), ("%0A", "\n"), ('\\"', '"')):
        text = text.replace(escape, character)
    return text


def render_form(parts: Iterable[FormPart]) -> tuple[str, bytes]:
    """Return the content type and the body of a form."""
    boundary = f"headwater-{secrets.token_hex(16)}"
    pieces: list[bytes] = []
    for part in parts:
        quoted = part.filename.replace('"', "%22")
        filename = f'; filename="{quoted}"' if part.filename else ""
        lines = [
            f"--{boundary}",
            f'Content-Disposition: form-data; name="{part.name}"{filename}',
            *(f"{name}: {value}" for name, value in part.headers),
            "",
            "",
        ]
        pieces += ["\r\n".join(lines).encode(), part.content, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", b"".join(pieces)
