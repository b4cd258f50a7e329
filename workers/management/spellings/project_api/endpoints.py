"""Which endpoint answers a request of the official Management API. Pure.

A path is compared part by part; a part in braces takes any text. Fixed parts win over those in braces, so `functions/deploy` is not
the function `deploy`.
"""

from urllib.parse import unquote

from workers.management.interface.errors import ManagementError, not_found
from workers.management.spellings.project_api import (
    advisors,
    database,
    functions,
    logs,
    projects,
    settings,
    storage,
)
from workers.management.spellings.project_api.call import ProjectEndpoint
from workers.management.spellings.project_api.elsewhere import NOT_SERVED

PREFIXES = ("/v1/", "/v2/")
ENDPOINTS = (
    *projects.ENDPOINTS,
    *functions.ENDPOINTS,
    *database.ENDPOINTS,
    *settings.ENDPOINTS,
    *advisors.ENDPOINTS,
    *logs.ENDPOINTS,
    *storage.ENDPOINTS,
)

_Pattern = tuple[str, ...]


def _pattern(path: str) -> _Pattern:
    return tuple(path.split("/")[1:])


_ANSWERS: dict[tuple[str, _Pattern], ProjectEndpoint | str] = {
    (method, _pattern(path)): sentence
    for sentence, lines in NOT_SERVED.items()
    for line in lines
    for *methods, path in [line.split()]
    for method in methods
} | {(endpoint.method, _pattern(endpoint.path)): endpoint for endpoint in ENDPOINTS}
"""By method and path: the endpoint, or the sentence of one that is not served."""


def find_endpoint(method: str, path: str) -> tuple[ProjectEndpoint, dict[str, str]]:
    """Return the endpoint of a request, and the parameters of its path, decoded.

    Raises: ManagementError (404, 405; 501 for what the official interface has and this one does not).
    """
    parts = path.rstrip("/").split("/")[1:]
    matches = [
        (pattern, answer)
        for (known, pattern), answer in _ANSWERS.items()
        if known == method and _fits(pattern, parts)
    ]
    if matches:
        pattern, answer = min(matches, key=lambda match: sum(_is_parameter(part) for part in match[0]))
        if isinstance(answer, ProjectEndpoint):
            return answer, _parameters(pattern, parts)
        raise ManagementError(
            501, "not_served", f"{method} {path[:200]} is not served by this platform: {answer}"
        )
    allowed = sorted({known for known, pattern in _ANSWERS if _fits(pattern, parts)})
    if allowed:
        raise ManagementError(
            405,
            "method_not_allowed",
            f"This path takes {', '.join(allowed)}",
            headers=[("allow", ", ".join(allowed))],
        )
    raise not_found(f"path {path[:200]}")


def _fits(pattern: _Pattern, parts: list[str]) -> bool:
    return len(pattern) == len(parts) and all(
        (_is_parameter(expected) and part != "") or expected == part
        for expected, part in zip(pattern, parts, strict=True)
    )


def _is_parameter(part: str) -> bool:
    return part.startswith("{")


def _parameters(pattern: _Pattern, parts: list[str]) -> dict[str, str]:
    return {
        expected[1:-1]: unquote(part)
        for expected, part in zip(pattern, parts, strict=True)
        if _is_parameter(expected)
    }
