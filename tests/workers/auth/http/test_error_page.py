import pytest

from schemas.caller import AnonymousCaller
from schemas.http import Headers, Request, Response
from workers.auth.http.error_page import as_page, wants_page

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def request(path: str, headers: Headers) -> Request:
    return Request("id", "GET", path, headers=headers, caller=AnonymousCaller())


@pytest.mark.parametrize(
    ("path", "accept", "expected"),
    [
        ("/authorize", BROWSER, True),
        ("/callback", BROWSER, True),
        ("/verify", BROWSER, True),
        ("/authorize/continue", BROWSER, True),
        ("/authorize", "*/*", False),
        ("/authorize", "application/json", False),
        ("/user", BROWSER, False),
        ("/token", BROWSER, False),
    ],
)
def test_a_page_is_for_browsers_at_addresses_that_they_open(path: str, accept: str, expected: bool) -> None:
    assert wants_page(request(path, [("accept", accept)])) is expected


def test_a_request_without_accept_gets_json() -> None:
    assert not wants_page(request("/authorize", []))


def test_a_page_shows_the_message_and_keeps_status_and_headers_and_runs_nothing() -> None:
    response = Response(400, [("content-type", "application/json"), ("x-sb-error-code", "x")], body=b"{}")

    page = as_page(response, "bad <code>", "<script>alert(1)</script> & more \udcff")

    headers = dict(page.headers)
    assert (page.status, headers["x-sb-error-code"]) == (400, "x")
    assert [name for name, _ in page.headers].count("content-type") == 1
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert b"&lt;script&gt;alert(1)&lt;/script&gt; &amp; more ?" in page.body
    assert b"400 bad &lt;code&gt;" in page.body
    assert b"<script" not in page.body
