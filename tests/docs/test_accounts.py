"""The page of the accounts lists every endpoint there is, and none that there is not."""

import re
from pathlib import Path

from workers.auth.http.routes import ROUTES

PAGE = Path(__file__).parents[2] / "docs" / "accounts.md"
_ENDPOINT = re.compile(r"(GET|HEAD|POST|PUT|PATCH|DELETE) (/[\w./{}-]*)")


def test_the_page_lists_every_endpoint_once():
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    listed = [f"{method} {path}" for row in rows for method, path in _ENDPOINT.findall(row)]

    assert sorted(listed) == sorted({f"{route.method} {route.pattern}" for route in ROUTES})
