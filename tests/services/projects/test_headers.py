"""Heads between clients and projects: what goes on, what is dropped, and how a body is framed."""

import pytest

from services.projects.headers import ForwardedClient, is_websocket_request, request_head, response_headers

_CLIENT = ForwardedClient("203.0.113.9", "shop.apps.test", "https")


def head_of(*received: tuple[bytes, bytes], prefix: str = "", **more: object) -> list[bytes]:
    client = ForwardedClient("203.0.113.9", "shop.apps.test", "https", prefix)
    head = request_head("POST", "/a?b", received, client, **more)  # type: ignore[arg-type]  # the test names them
    assert head.endswith(b"\r\n\r\n")
    return head[:-4].split(b"\r\n")


def test_a_head_is_the_clients_with_what_is_known_of_it() -> None:
    lines = head_of((b"Accept", b"x"), (b"apikey", b"key"), (b"X-Thing", b"1"), (b"x-thing", b"2"), length=5)

    assert lines == [
        b"POST /a?b HTTP/1.1",
        b"Host: shop.apps.test",
        b"Accept: x",
        b"apikey: key",
        b"X-Thing: 1",
        b"x-thing: 2",
        b"X-Forwarded-For: 203.0.113.9",
        b"X-Forwarded-Host: shop.apps.test",
        b"X-Forwarded-Proto: https",
        b"Content-Length: 5",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "Host", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect",
        "Proxy-Authorization", "Proxy-Connection", "HTTP2-Settings", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
        "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Real-IP", "X-Original-URL",
    ],
)  # fmt: skip
def test_nothing_that_speaks_for_the_connection_or_the_client_goes_on(name: str) -> None:
    lines = head_of((name.lower().encode(), b"smuggled"), (name.encode(), b"smuggled"))

    assert b"smuggled" not in b"".join(lines)


def test_what_connection_names_is_dropped_but_never_what_gives_the_request_its_meaning() -> None:
    lines = head_of((b"Connection", b"close, X-Secret , apikey"), (b"x-secret", b"s"), (b"apikey", b"key"))

    assert b"apikey: key" in lines
    assert not [line for line in lines if b"secret" in line.lower() or line.lower().startswith(b"connection")]


def test_a_body_has_one_framing() -> None:
    both = ((b"Content-Length", b"3"), (b"Transfer-Encoding", b"chunked"))

    assert [line for line in head_of(*both, is_chunked=True) if b"ength" in line or b"ncoding" in line] == [
        b"Transfer-Encoding: chunked"
    ]
    assert [line for line in head_of(*both, length=3) if b"ength" in line or b"ncoding" in line] == [
        b"Content-Length: 3"
    ]
    assert not [line for line in head_of(*both) if b"ength" in line or b"ncoding" in line]


def test_below_a_path_no_cookie_passes() -> None:
    assert b"X-Forwarded-Prefix: /shop" in head_of(prefix="/shop")
    assert not [line for line in head_of((b"Cookie", b"a=b"), prefix="/shop") if b"ookie" in line]
    assert b"Cookie: a=b" in head_of((b"Cookie", b"a=b"))
    assert "Set-Cookie" not in response_headers([(b"Set-Cookie", b"a=b")], prefix="/shop")


def test_cookies_of_a_project_are_for_its_own_host() -> None:
    received = [
        (b"set-cookie", b"a=1; Path=/; Domain=apps.test; Secure"),
        (b"Set-Cookie", b"b=2;domain = .apps.test ;HttpOnly"),
    ]

    assert response_headers(received, prefix="").getall("Set-Cookie") == [
        "a=1; Path=/; Secure",
        "b=2;HttpOnly",
    ]


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/a", "/shop/a"),
        ("/shop/a", "/shop/a"),
        ("http://shop.apps.test/a", "/shop/a"),
        ("http://shop.apps.test.evil/a", "http://shop.apps.test.evil/a"),
        ("//evil/a", "//evil/a"),
        ("https://elsewhere/a", "https://elsewhere/a"),
        ("a", "a"),
    ],
)
def test_redirections_stay_below_the_path(location: str, expected: str) -> None:
    headers = response_headers(
        [(b"Location", location.encode())], prefix="/shop", public_url="http://shop.apps.test"
    )

    assert headers["Location"] == expected


def test_a_response_has_no_header_of_the_other_connection() -> None:
    received = [
        (b"Connection", b"close, x-hop"), (b"X-Hop", b"1"), (b"Transfer-Encoding", b"chunked"), (b"Keep-Alive", b"1"),
        (b"Vary", b"A"), (b"vary", b"B"),
    ]  # fmt: skip

    assert list(response_headers(received, prefix="").items()) == [("Vary", "A"), ("vary", "B")]


@pytest.mark.parametrize(
    ("method", "upgrade", "connection", "expected"),
    [
        ("GET", b"websocket", b"Upgrade", True),
        ("GET", b"WebSocket", b"keep-alive, upgrade", True),
        ("POST", b"websocket", b"Upgrade", False),
        ("GET", b"h2c", b"Upgrade", False),
        ("GET", b"websocket, h2c", b"Upgrade", False),
        ("GET", b"websocket", b"keep-alive", False),
    ],
)
def test_only_websockets_are_switched_to(
    method: str, upgrade: bytes, connection: bytes, expected: bool
) -> None:
    assert is_websocket_request(method, [(b"Upgrade", upgrade), (b"Connection", connection)]) is expected
