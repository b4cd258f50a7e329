"""Choose the media type of an answer from `Accept`: `application/json`, or `application/graphql-response+json`. Pure.

The second one has status codes: a request that is refused before anything runs is answered with 4xx and without `data`.
Source: the specification "GraphQL over HTTP"; RFC 9110, section 12.5.1; docs/reference/graphql.md, section 1.
"""

import re
from collections.abc import Iterator

JSON = "application/json; charset=utf-8"
GRAPHQL_RESPONSE = "application/graphql-response+json; charset=utf-8"


_WEIGHT = re.compile(r"q=([01])(?:\.([0-9]{0,3}))?")
_NONE, _FULL = ("0", "000"), ("1", "000")
_Weight = tuple[str, str]
"""Digits of a weight before and after the point; weights compare as their digits do."""


def wants_graphql_response(accept: str | None) -> bool:
    """Return whether `Accept` names `application/graphql-response+json`, and `application/json` with no higher weight.

    Wildcards do not count: the answer to them is `application/json`.
    """
    if accept is None or "graphql-response+json" not in accept.lower():
        return False
    weights = dict(_weights(accept))
    weight = weights.get("application/graphql-response+json", _NONE)
    return weight > _NONE and weight >= weights.get("application/json", _NONE)


def _weights(accept: str) -> Iterator[tuple[str, _Weight]]:
    """Yield each media type of `Accept` in lower case with its weight. A weight that cannot be read counts as absent."""
    for item in accept.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        matches = (_WEIGHT.fullmatch(parameter) for parameter in parameters)
        yield name, next(((match[1], f"{match[2] or '':0<3}") for match in matches if match), _FULL)
