"""Entity tags of reads, and the conditions that requests set on them. Pure. Source: RFC 9110, 8.8.3 and 13.1.

A tag has two parts, `"<rows>-<head>"`:

    rows   a hash of the rows as a JSON array; one row as an object and as an array of one have the same
    head   a hash of what the head of the answer says about the body

A read is unchanged only if both are: a browser that receives 304 keeps the `Content-Range` and `Preference-Applied` it has
stored (RFC 9111, 3.2 lets it), so an answer whose count differs must have another tag. A write is compared by the rows alone:
the client may have read them with a count, as an object, or in a compressed answer (whose tag is weak).
"""

import re
from hashlib import blake2b

from schemas.http import Headers, derived, header_values
from schemas.row_tags import tag_of_row, tag_of_rows
from workers.rest.model import BodyShape, MediaOutput, RestPlan

_HEAD_BYTES = 6
_HEAD_NAMES = frozenset({"link", "preference-applied"})
"""Headers of the head's hash in addition to those whose name begins with `content-`. Others are replaced by those of a 304."""
_TAG = re.compile(r'(?:W/)?"([^"]*)"|\*')


def tagged(
    plan: RestPlan, status: int, headers: Headers, body: bytes, request_headers: Headers
) -> tuple[int, Headers, bytes]:
    """Add the tag to the headers of a read; return 304 without a body if `If-None-Match` names the tag.

    `headers` is extended in place: it is not part of a response yet.
    """
    if plan.request.is_head or plan.output.explain is not None or status not in (200, 201, 206):
        return status, headers, body
    tag = f"{_rows_of(plan.output, body)}-{_head_of(headers)}"
    headers.append(("etag", f'"{tag}"'))
    listed = derived(request_headers, _none_match)
    if tag not in listed and "*" not in listed:
        return status, headers, body
    return 304, [pair for pair in headers if pair[0] != "content-type"], b""


def are_met(headers: Headers, body: bytes, count: int) -> bool:
    """Return whether the conditions of a write are met by the rows it would change: `body` is their JSON array, `count` their number."""
    rows = tag_of_rows(body)
    if header_values(headers, "if-match") and not _names_rows(headers, "if-match", rows, count):
        return False
    return not _names_rows(headers, "if-none-match", rows, count)


def names_tags(headers: Headers) -> bool:
    """Return whether a write is for the rows of a tag alone, not for any that are there."""
    return bool(_listed(headers, "if-match")) and "*" not in _listed(headers, "if-match")


def _names_rows(headers: Headers, condition: str, rows: str, count: int) -> bool:
    listed = _listed(headers, condition)
    return count > 0 and ("*" in listed or any(tag.partition("-")[0] == rows for tag in listed))


def _none_match(headers: Headers) -> frozenset[str]:
    return frozenset(_listed(headers, "if-none-match"))


def _listed(headers: Headers, condition: str) -> set[str]:
    """Return the tags of all lines of a condition, without their quotes and the mark of a weak one; `*` stands for itself."""
    lines = header_values(headers, condition)
    if not lines:
        return set()
    return {match[1] if match[1] is not None else "*" for match in _TAG.finditer(",".join(lines))}


def _rows_of(output: MediaOutput, body: bytes) -> str:
    """Return the hash of the rows. A body that is not the JSON of the rows is hashed with its type: it matches no write."""
    match output.shape:
        case BodyShape.ARRAY if not output.strips_nulls:
            return tag_of_rows(body)
        case BodyShape.SINGLE if not output.strips_nulls:
            return tag_of_row(body)
    return tag_of_rows(output.content_type.encode() + b"\0" + body)


def _head_of(headers: Headers) -> str:
    lines = [f"{name}:{value}\n" for name, value in headers if name[:8] == "content-" or name in _HEAD_NAMES]
    return blake2b("".join(lines).encode(errors="surrogatepass"), digest_size=_HEAD_BYTES).hexdigest()
