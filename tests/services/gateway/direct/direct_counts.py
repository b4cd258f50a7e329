"""How the connections of a gateway in this process answer requests: directly, or with aiohttp's task."""

import pytest

from services.gateway.direct.connection import DirectConnectionHandler
from services.gateway.direct.exchange import DirectExchange
from services.gateway.direct.known_heads import KnownHead, KnownPost, RecognizedRequest


class Counts:
    """How the requests of a test were answered."""

    def __init__(self) -> None:
        self.direct = 0
        self.resumed = 0
        self.known = 0


def watch(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Count what the connections of a gateway in this process do."""
    counts = Counts()
    start, go_on = DirectConnectionHandler._start_directly, DirectConnectionHandler.go_on
    requests_in = {kind: kind.request_in for kind in (KnownHead, KnownPost)}

    def count_start(handler: DirectConnectionHandler, exchange: DirectExchange) -> None:
        counts.direct += 1
        start(handler, exchange)

    def count_go_on(handler: DirectConnectionHandler, exchange: DirectExchange) -> None:
        counts.resumed += 1
        go_on(handler, exchange)

    def count_known(known: KnownHead | KnownPost, data: bytes) -> RecognizedRequest | None:
        request = requests_in[type(known)](known, data)  # type: ignore[arg-type]  # the method of its own type
        counts.known += request is not None
        return request

    monkeypatch.setattr(DirectConnectionHandler, "_start_directly", count_start)
    monkeypatch.setattr(DirectConnectionHandler, "go_on", count_go_on)
    for kind in requests_in:
        monkeypatch.setattr(kind, "request_in", count_known)
    return counts
