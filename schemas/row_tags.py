"""The tag of rows that clients read in one area and name in another: REST's `ETag`, `headers.etag` of shapes, `If-Match`. Pure.

A tag is a hash of the rows as REST writes them: a JSON array of the bytes of `row_to_json`. Source: docs/rest-additions.md, "Entity tags".
"""

from hashlib import blake2b

_BYTES = 12


def tag_of_rows(array: bytes) -> str:
    """Return the tag of rows from their JSON array: 24 hexadecimal digits, without quotes."""
    return blake2b(array, digest_size=_BYTES).hexdigest()


def tag_of_row(row: bytes) -> str:
    """Return the tag of one row from its JSON object."""
    return tag_of_rows(b"[%b]" % row)
