"""Documents that a project makes (functions, media types of REST) are not of the API's origin: the dashboard is.

A browser that opens such a document runs its scripts. Of the API's origin they could do what a signed-in administrator may: cookies
go along with their requests, and `Origin` is the server's own. The policy `sandbox` gives the document an origin of its own instead
(HTML, "opaque origin"); scripts, forms and popups work, cookies and local storage of the API's origin are out of reach.
Source: Content Security Policy Level 3, 6.3.2.
"""

from schemas.http import Headers, header

CONTENT_POLICY = "content-security-policy"
SANDBOX = (
    CONTENT_POLICY,
    "sandbox allow-scripts allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads",
)
_PASSIVE = frozenset(
    {
        "application/json", "application/geo+json", "application/openapi+json", "application/octet-stream",
        "application/vnd.pgrst.object", "application/vnd.pgrst.array", "application/vnd.rest.object",
        "application/vnd.rest.array", "text/csv", "text/plain", "text/event-stream", "application/x-ndjson",
    }
)  # fmt: skip
"""Types that no browser runs, as a document or otherwise."""


def in_sandbox(headers: Headers) -> Headers:
    """Return the headers of a response of the project's, with the policy where a browser could run its body. Pure.

    Without a type, or with one that is not known to be passive, it could. A policy of the project's own stays: both apply.
    """
    kind = header(headers, "content-type")
    if kind is not None and _is_passive(kind):
        return headers
    return [*headers, SANDBOX]


def _is_passive(content_type: str) -> bool:
    essence = content_type.partition(";")[0].strip().lower()
    if "," in content_type:  # several types in one line: browsers take the last
        return False
    if essence.startswith(("image/", "audio/", "video/", "font/")):
        return "xml" not in essence
    return essence in _PASSIVE or essence.endswith("+json")
