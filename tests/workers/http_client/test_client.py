import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from workers.http_client.address_guard import is_public
from workers.http_client.client import FetchedResponse, FetchFailed, HttpClient


class Service:
    """A server on loopback that does what its paths say."""

    def __init__(self) -> None:
        self.hang = asyncio.Event()
        self.heard: list[tuple[str, str]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.heard.append((request.method, await request.text()))
        match request.path:
            case "/redirect":
                return web.Response(status=302, headers={"location": "http://169.254.169.254/latest"})
            case "/long":
                return web.Response(body=b"x" * 5000)
            case "/hang":
                await self.hang.wait()
            case "/teapot":
                return web.Response(status=418, text="[1]")
            case "/break":
                assert request.transport is not None
                request.transport.abort()
        return web.json_response(
            {"agent": request.headers["user-agent"], "cookie": request.headers.get("cookie")}
        )


@pytest.fixture
async def service() -> Service:
    return Service()


@pytest.fixture
async def url(service: Service) -> AsyncIterator[str]:
    runner = web.ServerRunner(web.Server(service.answer))  # type: ignore[arg-type]  # a BaseRequest is enough here
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    service.hang.set()
    await runner.cleanup()


@pytest.fixture
async def outgoing() -> AsyncIterator[HttpClient]:
    one = HttpClient()
    yield one
    await one.close()


async def reason(call: object) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await call  # type: ignore[misc]  # the coroutine of a fetch
    return caught.value


async def test_an_answer_is_read_whatever_its_status(outgoing: HttpClient, url: str):
    answer = await outgoing.fetch("GET", f"{url}/teapot")

    assert (answer.status, answer.is_ok, answer.json()) == (418, False, [1])
    assert answer.headers["content-type"].startswith("text/plain")


async def test_a_form_and_a_body_are_sent_as_they_are(outgoing: HttpClient, url: str, service: Service):
    await outgoing.fetch("POST", url, form={"a": "1", "b": "ü"})
    await outgoing.fetch("POST", url, body=b'{"c":2}')

    assert service.heard == [("POST", "a=1&b=%C3%BC"), ("POST", '{"c":2}')]


async def test_no_redirect_is_followed(outgoing: HttpClient, url: str, service: Service):
    answer = await outgoing.fetch("GET", f"{url}/redirect")

    assert answer.status == 302
    assert len(service.heard) == 1


async def test_an_answer_that_is_too_long_is_refused(outgoing: HttpClient, url: str):
    error = await reason(outgoing.fetch("GET", f"{url}/long", most_bytes=4999))

    assert error.is_too_long
    assert len((await outgoing.fetch("GET", f"{url}/long", most_bytes=5000)).body) == 5000


async def test_who_does_not_answer_in_time_is_given_up(outgoing: HttpClient, url: str):
    assert (await reason(outgoing.fetch("GET", f"{url}/hang", timeout_s=0.2))).is_timeout


async def test_a_broken_connection_is_told_without_the_address(outgoing: HttpClient, url: str):
    error = await reason(outgoing.fetch("GET", f"{url}/break?token=secret"))

    assert str(error) in ("the connection broke", "no connection could be made")


@pytest.mark.parametrize("address", ["no url", "http://", "gopher://h/", "http://127.0.0.1:1/?t=secret"])
async def test_what_cannot_be_reached_is_a_failure_in_words(outgoing: HttpClient, address: str):
    assert "secret" not in str(await reason(outgoing.fetch("GET", address)))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "192.168.1.1", "0.0.0.0", "[::ffff:127.0.0.1]",
     "2130706433", "127.1"],
)  # fmt: skip
async def test_private_hosts_are_refused_where_only_public_ones_may_be_asked(
    outgoing: HttpClient, url: str, service: Service, host: str
):
    port = url.rpartition(":")[2]

    assert "private" in str(await reason(outgoing.fetch("GET", f"http://{host}:{port}/", only_public=True)))
    assert service.heard == []


async def test_a_name_of_a_private_address_is_refused_when_it_is_connected_to(
    outgoing: HttpClient, url: str, service: Service
):
    port = url.rpartition(":")[2]

    await reason(outgoing.fetch("GET", f"http://localhost.:{port}/", only_public=True))

    assert service.heard == []


async def test_a_certificate_that_nobody_trusts_is_refused(outgoing: HttpClient, url: str):
    assert ssl.OPENSSL_VERSION_INFO >= (1, 1, 1)
    await reason(outgoing.fetch("GET", url.replace("http:", "https:")))


async def test_no_cookie_is_kept_and_our_name_is_told(outgoing: HttpClient, url: str):
    assert (await outgoing.fetch("GET", url)).object() == {"agent": "headwater", "cookie": None}


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 100_000, b"\xff"])
def test_what_is_no_json_is_a_failure(body: bytes):
    with pytest.raises(FetchFailed):
        FetchedResponse(200, {}, body).json()


def test_a_list_is_no_object():
    with pytest.raises(FetchFailed):
        FetchedResponse(200, {}, b"[1]").object()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("a.org", False),
    ],
)
def test_public_addresses_are_known(address: str, expected: bool):
    assert is_public(address) is expected
