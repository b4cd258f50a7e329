"""Entity tags of reads, and the conditions that requests set on them. Pure. Source: RFC 9110, 8.8.3 and 13.1.

The tag of a JSON read is a hash of its rows as an array, so one row as an object and as an array of one have the same
hash; the object's tag has a mark of its own, because the bytes differ.
"""

from hashlib import blake2b

from schemas.http import Headers, header
from workers.rest.model import BodyShape, MediaOutput, RestPlan

_BYTES = 12
_OBJECT = "-o"
_OTHER = "-x"


def tag_of(output: MediaOutput, body: bytes) -> str:
    """Return the entity tag of a body."""
    match output.shape:
        case BodyShape.ARRAY if not output.strips_nulls:
            return _tag(body)
        case BodyShape.SINGLE if not output.strips_nulls:
            return _tag(b"[" + body + b"]", _OBJECT)
    return _tag(output.content_type.encode() + body, _OTHER)


def tagged(
    plan: RestPlan, status: int, headers: Headers, body: bytes, condition: str | None
) -> tuple[int, Headers, bytes]:
    """Add the tag to the headers of a read; return 304 without a body if `condition` (If-None-Match) names the tag.

    `headers` is extended in place: it is not part of a response yet.
    """
    if plan.request.is_head or plan.output.explain is not None or status not in (200, 206):
        return status, headers, body
    tag = tag_of(plan.output, body)
    headers.append(("etag", tag))
    if condition is None or not _names(condition, tag):
        return status, headers, body
    return 304, [pair for pair in headers if pair[0] != "content-type"], b""


def are_met(headers: Headers, body: bytes, count: int) -> bool:
    """Return whether the conditions of a write are met by the rows it would change: `body` is their JSON array, `count` their number."""
    matching, not_matching = header(headers, "if-match"), header(headers, "if-none-match")
    tags = _tag(body), _tag(body, _OBJECT)
    if matching is not None and (count == 0 or not _names(matching, *tags)):
        return False
    return not_matching is None or count == 0 or not _names(not_matching, *tags)


def _names(condition: str, *tags: str) -> bool:
    """Return whether a list of tags contains one of these."""
    listed = {tag.strip().removeprefix("W/") for tag in condition.split(",")}
    return "*" in listed or not listed.isdisjoint(tags)


def _tag(data: bytes, mark: str = "") -> str:
    return f'"{blake2b(data, digest_size=_BYTES).hexdigest()}{mark}"'
