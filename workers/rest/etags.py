"""Entity tags of reads, and the conditions that requests set on them. Pure. Source: RFC 9110, 8.8.3 and 13.1.

The tag of a JSON read is a hash of its rows as an array, so one row as an object and as an array of one have the same
hash; the object's tag has a mark of its own, because the bytes differ.
"""

from hashlib import blake2b

from schemas.http import Headers, Response, header
from workers.rest.model import Output, Plan, Shape

_BYTES = 12
_OBJECT = "-o"
_OTHER = "-x"


def tag_of(output: Output, body: bytes) -> str:
    """Give the entity tag of a body."""
    match output.shape:
        case Shape.ARRAY if not output.strips_nulls:
            return _tag(body)
        case Shape.SINGLE if not output.strips_nulls:
            return _tag(b"[" + body + b"]", _OBJECT)
    return _tag(output.content_type.encode() + body, _OTHER)


def with_tag(plan: Plan, response: Response, condition: str | None) -> Response:
    """Add the tag to the answer of a read; answer 304 without a body if the caller has it already (If-None-Match)."""
    if plan.request.is_head or plan.output.explain is not None or response.status not in (200, 206):
        return response
    tag = tag_of(plan.output, response.body)
    response.headers.append(("etag", tag))
    if condition is None or not _names(condition, tag):
        return response
    kept: Headers = [pair for pair in response.headers if pair[0] != "content-type"]
    return Response(304, kept)


def holds(headers: Headers, body: bytes, count: int) -> bool:
    """Tell whether a write may go on, given the rows that it would change: as a JSON array, and how many."""
    wanted, unwanted = header(headers, "if-match"), header(headers, "if-none-match")
    tags = _tag(body), _tag(body, _OBJECT)
    if wanted is not None and (count == 0 or not _names(wanted, *tags)):
        return False
    return unwanted is None or count == 0 or not _names(unwanted, *tags)


def _names(condition: str, *tags: str) -> bool:
    """Tell whether a list of tags holds one of these."""
    listed = {each.strip().removeprefix("W/") for each in condition.split(",")}
    return "*" in listed or not listed.isdisjoint(tags)


def _tag(data: bytes, mark: str = "") -> str:
    return f'"{blake2b(data, digest_size=_BYTES).hexdigest()}{mark}"'
