"""Calls to a hook service on loopback: what is sent, what is tried again, what is refused."""

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from schemas.keys.secret import Secret
from tests.workers.auth.delivery.hooks.service import SECRETS, HookService
from workers.auth.delivery.hooks.over_http import MOST_BYTES, HttpHook, RetryLimits
from workers.auth.delivery.hooks.signatures import read_signer
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.http_client.client import HttpClient

QUICK = RetryLimits(total_s=5.0, tries=3, pause_s=0.0)
HASTY = RetryLimits(total_s=0.05, tries=3, pause_s=0.0)


@pytest.fixture
async def outgoing() -> AsyncIterator[HttpClient]:
    one = HttpClient()
    yield one
    await one.close()


def hook(outgoing: HttpClient, url: str, limits: RetryLimits = QUICK) -> HttpHook:
    return HttpHook(url, read_signer(Secret(SECRETS)), outgoing, time.time, limits)


async def refused(asked: HttpHook) -> AuthError:
    with pytest.raises(AuthError) as raised:
        await asked.ask("id-1", b'{"a":1}')
    return raised.value


def test_the_patience_is_that_of_the_reference():
    assert RetryLimits() == RetryLimits(total_s=5.0, tries=3, pause_s=2.0)
    assert MOST_BYTES == 200 * 1024


@pytest.mark.parametrize("status", [200, 202])
async def test_an_answer_is_read(outgoing: HttpClient, service: HookService, status: int):
    service.says({"b": "ü"}, status)

    answer = await hook(outgoing, service.url).ask("id-1", b'{"a":1}')

    assert json.loads(answer) == {"b": "ü"}
    assert (service.heard, service.ids) == ([{"a": 1}], ["id-1"])


async def test_no_content_is_consent(outgoing: HttpClient, service: HookService):
    service.usual = lambda: web.Response(status=204)

    assert await hook(outgoing, service.url).ask("id-1", b"{}") == b"{}"


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_service_is_asked_again_under_the_same_id(
    outgoing: HttpClient, service: HookService, status: int
):
    busy = lambda: web.Response(status=status, headers={"retry-after": "1"})  # noqa: E731 - one of a list of answers
    service.answers = [busy, busy]
    service.says({"c": 1})

    assert await hook(outgoing, service.url).ask("id-1", b"{}") == b'{"c": 1}'
    assert service.ids == ["id-1"] * 3


JSON = {"content-type": "application/json"}
FAILURES: list[tuple[int, bytes, dict[str, str], ErrorCode, int, int]] = [
    (503, b"", {"retry-after": "1"}, ErrorCode.HOOK_TIMEOUT_AFTER_RETRY, 422, 3),
    *(
        (status, b'{"error":{"http_code":418,"message":"tea"}}', {**JSON, "location": "http://x"}, ErrorCode.UNEXPECTED_FAILURE, 500, 1)
        for status in (301, 302, 400, 401, 403, 404, 429, 500, 502, 503, 201, 206)
    ),
    *((200, b" " * size, JSON, ErrorCode.HOOK_PAYLOAD_OVER_SIZE_LIMIT, 422, 1) for size in (MOST_BYTES + 1, 4 * MOST_BYTES)),
    *(
        (200, b"{}", {"content-type": kind}, ErrorCode.HOOK_PAYLOAD_INVALID_CONTENT_TYPE, 400, 1)
        for kind in ("text/html", "text/plain; charset=utf-8", "application/xml", "application/jsonp")
    ),
]  # fmt: skip
"""The service's status, body and headers; our error, its status, and how often the service is asked."""


@pytest.mark.parametrize(("answer", "body", "headers", "code", "status", "tries"), FAILURES)
async def test_an_answer_that_cannot_be_used_is_an_error(
    outgoing: HttpClient,
    service: HookService,
    answer: int,
    body: bytes,
    headers: dict[str, str],
    code: ErrorCode,
    status: int,
    tries: int,
):
    service.usual = lambda: web.Response(status=answer, body=body, headers=headers)

    error = await refused(hook(outgoing, service.url))

    assert (error.code, error.status, len(service.heard)) == (code, status, tries)


async def test_a_connection_that_breaks_is_tried_again(outgoing: HttpClient, service: HookService):
    service.breaks = 2

    assert await hook(outgoing, service.url).ask("id-1", b"{}") == b"{}"
    assert service.ids == ["id-1"] * 3


async def test_a_service_that_is_not_there_is_given_up(outgoing: HttpClient):
    error = await refused(hook(outgoing, "http://127.0.0.1:1/hook?key=geheim"))

    assert (error.code, error.status) == (ErrorCode.HOOK_TIMEOUT_AFTER_RETRY, 422)
    assert "geheim" not in str(error)


async def test_a_slow_service_is_given_up(outgoing: HttpClient, service: HookService):
    service.hang = asyncio.Event()

    error = await refused(hook(outgoing, service.url, HASTY))

    assert (error.code, error.status) == (ErrorCode.HOOK_TIMEOUT, 422)


async def test_the_time_is_that_of_all_tries_together(outgoing: HttpClient, service: HookService):
    service.breaks = 99

    error = await refused(hook(outgoing, service.url, RetryLimits(total_s=0.05, tries=3, pause_s=60.0)))

    assert error.code == ErrorCode.HOOK_TIMEOUT


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b" " * MOST_BYTES, "application/json"), (b"{}", "Application/JSON;charset=UTF-8")],
)
async def test_an_answer_may_be_as_long_as_the_limit_and_name_its_charset(
    outgoing: HttpClient, service: HookService, body: bytes, kind: str
):
    service.usual = lambda: web.Response(body=body, headers={"content-type": kind})

    assert await hook(outgoing, service.url).ask("id-1", b"{}") == body
