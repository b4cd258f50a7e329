"""Requests to REST: whatever comes, the answer is none of the 5xx, an error says why, and nobody sees what is another's."""

import http.client
import socket

import pytest

from tests.fuzz.core import Budget, Target, run
from tests.fuzz.rest import WORDS, check_answer, generated, is_no_http
from tests.fuzz.wire import Wire, check_share, read_case

pytestmark = pytest.mark.process_group("fuzz")

_TIDY_AFTER = 500


def test_any_request_is_answered_or_refused_with_reasons(budget: Budget, wire: Wire) -> None:
    cases = iter(range(10**9))

    def check(data: bytes) -> None:
        case = read_case(data)
        check_answer(case, wire.send(case))
        if next(cases) % _TIDY_AFTER == _TIDY_AFTER - 1:
            assert wire.ask("service", "POST", "/rest/v1/rpc/tidied", {}).status < 300

    run(Target("rest", generated, check, 2000, WORDS, share=6), budget)

    check_share(wire, 0.1)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /rest/v1/known?a=\xff HTTP/1.1",
        b"GET /rest/v1/\x01 HTTP/1.1",
        b"GET /rest/v1/known HTTP/1.1\r\nPrefer: \x00",
        b"GET /rest/v1/known HTTP/9.9",
        b"GET /rest/v1/known HTTP/1.1\r\nX-Long: " + b"v" * 200_000,
        b"GET http://[::1/rest/v1/known HTTP/1.1",
        b"POST /rest/v1/known HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
        b"POST /rest/v1/known HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
    ],
)
def test_what_is_no_http_is_refused_and_logs_no_defect(wire: Wire, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", wire.target.port), timeout=30) as one:
        one.sendall(head + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = http.client.HTTPResponse(one)
        answer.begin()
        body = answer.read()

    assert 400 <= answer.status < 500 or (answer.status == 505) is (b"HTTP/9.9" in head)
    assert is_no_http(body), body
