from typing import Any

import pytest

from services.gateway.requests.public_address import url_from_headers, with_prefix

URL = "http://inside:8000/storage/v1"


def told(*, is_trusted: bool = True, scheme: str = "http", **headers: str) -> str:
    """Return the address that headers tell; `host` is `inside:8000` if not said."""
    named = {name.replace("_", "-"): value for name, value in {"host": "inside:8000", **headers}.items()}
    return url_from_headers(named, scheme, is_trusted=is_trusted)


@pytest.mark.parametrize(
    ("headers", "url"),
    [
        ({}, URL),
        ({"scheme": "https", "host": "a.example"}, "https://a.example/storage/v1"),
        ({"scheme": "https", "host": "a.example:443"}, "https://a.example/storage/v1"),
        ({"host": "[::1]:8000"}, "http://[::1]:8000/storage/v1"),
        ({"x_forwarded_proto": "https"}, "https://inside:8000/storage/v1"),
        ({"x_forwarded_proto": "https", "x_forwarded_host": "a.example"}, "https://a.example/storage/v1"),
        ({"x_forwarded_host": "a.example:8443", "x_forwarded_port": "1"}, "http://a.example:8443/storage/v1"),
        ({"x_forwarded_host": "a.example", "x_forwarded_port": "80"}, "http://a.example/storage/v1"),
        ({"x_forwarded_host": "a.example", "x_forwarded_port": "81"}, "http://a.example:81/storage/v1"),
        ({"x_forwarded_port": "81"}, "http://inside:81/storage/v1"),
        ({"x_forwarded_host": "first.example, second.example"}, "http://first.example/storage/v1"),
        ({"x_forwarded_prefix": "/backend/"}, "http://inside:8000/backend/storage/v1"),
        ({"x_forwarded_prefix": "/storage/v1"}, URL),
    ],
)
def test_address_is_what_the_nearest_to_the_client_tells(headers: dict[str, Any], url: str) -> None:
    assert told(**headers) == url


@pytest.mark.parametrize(
    "headers",
    [
        {"x_forwarded_host": "evil.example/path"},
        {"x_forwarded_host": "evil.example@b"},
        {"x_forwarded_proto": "javascript"},
        {"x_forwarded_port": "80a"},
        {"x_forwarded_prefix": "//evil.example/?"},
        {"x_forwarded_prefix": "backend"},
    ],
)
def test_what_is_malformed_is_passed_over(headers: dict[str, Any]) -> None:
    assert told(**headers) == URL


def test_whoever_is_no_trusted_proxy_tells_nothing() -> None:
    headers = {"x_forwarded_host": "evil.example", "x_forwarded_proto": "https", "x_forwarded_prefix": "/x"}

    assert told(is_trusted=False, **headers) == URL


@pytest.mark.parametrize("host", ["", "a b", "evil.example/path"])
def test_request_without_a_host_gets_a_path(host: str) -> None:
    assert told(host=host) == "/storage/v1"


@pytest.mark.parametrize("url", ["https://a.example", "https://a.example/", "https://a.example/storage/v1/"])
def test_prefix_is_there_once(url: str) -> None:
    assert with_prefix(url) == "https://a.example/storage/v1"
