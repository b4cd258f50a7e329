"""Which responses of a project a browser could run, and that these are not of the API's origin."""

import pytest

from schemas.active_documents import SANDBOX, in_sandbox
from schemas.http import Headers


@pytest.mark.parametrize(
    ("headers", "is_held"),
    [
        ([("content-type", "application/json; charset=utf-8")], False),
        ([("content-type", "application/problem+json")], False),
        ([("content-type", "text/csv")], False),
        ([("content-type", "IMAGE/PNG")], False),
        ([("content-type", "image/svg+xml")], True),
        ([("content-type", "text/html")], True),
        ([("content-type", " Text/HTML ;charset=utf-8")], True),
        ([("content-type", "application/xhtml+xml")], True),
        ([("content-type", "text/xml")], True),
        ([("content-type", "application/pdf")], True),
        ([("content-type", "text/javascript")], True),
        ([("content-type", "text/plain, text/html")], True),
        ([("content-type", "nonsense")], True),
        ([("content-type", "")], True),
        ([], True),
        ([("content-type", "text/html"), ("content-security-policy", "default-src *")], True),
    ],
)
def test_what_a_browser_could_run_has_an_origin_of_its_own(headers: Headers, is_held: bool) -> None:
    answer = in_sandbox(headers)

    assert answer == ([*headers, SANDBOX] if is_held else headers)
    assert "allow-same-origin" not in SANDBOX[1]
