"""Broadcasts over HTTP: many messages in one JSON body, or one message whose body is the payload.

    POST /api/broadcast                             {"messages": [{"topic", "event", "payload", "private"?, "id"?}]}
    POST /api/broadcast/{topic}/events/{event}      any JSON, or bytes; ?private=true

The response is 202 when the messages were handed to the broker. Messages that the caller may not send to a private topic are
left out of a batch; a single one is rejected with 403. Source: docs/reference/realtime.md, sections 1 and 7.
"""

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec

from schemas.bounded_cache import BoundedCache
from schemas.http import Headers, Response
from services.middleware.errors import JSON
from services.realtime.channels.pool_queries import ChannelQueries
from services.realtime.limits import TokenBucket
from services.realtime.protocol.frames import TOPIC_PREFIX, is_json
from services.realtime.tokens import RealtimeIdentity
from services.realtime.topics.hub import TopicHub
from services.realtime.topics.messages import PayloadForm, TopicMessage

_OVER_S = 10.0
_MOST_KEYS = 10_000
_SPARE = 500
_RIGHTS_AT_ONCE = 8
"""Topics of one batch whose rights are asked for at a time."""


@dataclass(frozen=True, slots=True)
class BroadcastRequest:
    """The parts of a request that broadcasts read."""

    path: str
    """Path below the prefix of the area."""
    query: str
    content_type: str
    body: bytes
    identity: RealtimeIdentity
    headers: dict[str, str]
    """The `x-...` headers."""
    key: str
    """The API key, by which the rate is counted."""


class HttpBroadcasts:
    """Sends messages that arrive over HTTP to topics."""

    def __init__(self, hub: TopicHub, queries: ChannelQueries, max_payload: int, per_s: float) -> None:
        self._hub = hub
        self._queries = queries
        self._max_payload = max_payload + _SPARE
        self._per_s = per_s
        self._rates = BoundedCache[str, TokenBucket](_MOST_KEYS)

    async def answer(self, request: BroadcastRequest, now: float) -> Response:
        """Answer a broadcast. Raises: Unavailable, DeadlineExceeded, ChannelQueryRejected. `now` is monotonic."""
        messages: list[TopicMessage] | Response
        single = _single_address(request.path)
        messages = self._read_batch(request.body) if single is None else self._read_single(request, *single)
        if isinstance(messages, Response):
            return messages
        rate = self._rate(request.key)
        # Taken before the rights are queried: requests that arrive meanwhile must find them gone.
        if not rate.take(now, len(messages)):
            is_batch = len(messages) > 1 and rate.left(now) > 0
            text = (
                "Too many messages to broadcast, please reduce the batch size"
                if is_batch
                else "You have exceeded your rate limit"
            )
            return _json_response(429, {"message": text}, self._rate_headers(rate, now))
        allowed = await self._allowed(request, messages)
        if single is not None and not allowed:
            return _json_response(403, {"message": "Unauthorized"}, self._rate_headers(rate, now))
        for message in allowed:
            self._hub.send(message)
        return Response(202, self._rate_headers(rate, now))

    async def _allowed(self, request: BroadcastRequest, messages: list[TopicMessage]) -> list[TopicMessage]:
        """Return the messages that the caller may send. The pool is queried once for each private topic."""
        topics = list(dict.fromkeys(message.topic for message in messages if message.is_private))
        if not topics:
            return messages
        at_once = asyncio.Semaphore(_RIGHTS_AT_ONCE)

        async def may_write(topic: str) -> bool:
            async with at_once:
                return await self._queries.may_write(topic, request.identity, request.headers, "broadcast")

        may = dict(zip(topics, await asyncio.gather(*map(may_write, topics)), strict=True))
        return [message for message in messages if not message.is_private or may[message.topic]]

    def _read_single(
        self, request: BroadcastRequest, topic: str, event: str
    ) -> list[TopicMessage] | Response:
        kind = request.content_type.partition(";")[0].strip().lower()
        is_binary = kind == "application/octet-stream"
        if not is_binary and kind != "application/json":
            return _json_response(415, {"message": "Unsupported Media Type"})
        if len(request.body) > self._max_payload:
            return _invalid({"payload": ["Payload size exceeds tenant limit"]})
        if not topic or not event:
            return _invalid({"topic" if not topic else "event": ["can't be blank"]})
        if not is_binary and not is_json(request.body):
            return _invalid({"payload": ["is invalid"]})
        private = parse_qs(request.query).get("private", [""])[-1].lower() == "true"
        form = PayloadForm.BINARY if is_binary else PayloadForm.JSON
        return [TopicMessage(topic.removeprefix(TOPIC_PREFIX), private, event, request.body, form)]

    def _read_batch(self, body: bytes) -> list[TopicMessage] | Response:
        try:
            body.decode()
            members = msgspec.json.decode(body, type=dict[str, Any])
            raw = msgspec.json.decode(body, type=_Raws)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return _invalid({"messages": ["is invalid"]})
        sent = members.get("messages")
        if not isinstance(sent, list) or not sent:
            return _invalid({"messages": ["can't be blank"]})
        errors = [self._errors(item, payload) for item, payload in zip(sent, raw.messages, strict=True)]
        if any(errors):
            return _invalid({"messages": errors})
        return [
            _message(item, bytes(payload["payload"]))
            for item, payload in zip(sent, map(_members, raw.messages), strict=True)
        ]

    def _errors(self, sent: Any, raw: msgspec.Raw) -> dict[str, list[str]]:
        """Return the errors of a message of a batch, by member."""
        if not isinstance(sent, dict):
            return {"message": ["is invalid"]}
        errors: dict[str, list[str]] = {}
        for name, kind in (("topic", str), ("event", str), ("payload", dict)):
            value = sent.get(name)
            if value is None or value == "":
                errors[name] = ["can't be blank"]
            elif not isinstance(value, kind):
                errors[name] = ["is invalid"]
        if not isinstance(sent.get("id", ""), str | None):
            errors["id"] = ["is invalid"]
        if len(memoryview(raw)) > self._max_payload:
            errors["payload"] = ["Payload size exceeds tenant limit"]
        return errors

    def _rate(self, key: str) -> TokenBucket:
        rate = self._rates.get(key) or TokenBucket(self._per_s, _OVER_S)
        self._rates.put(key, rate)
        return rate

    def _rate_headers(self, rate: TokenBucket, now: float) -> Headers:
        if self._per_s <= 0:
            return [("x-rate-rolling", "0")]
        left = rate.left(now)
        return [
            ("x-rate-rolling", f"{rate.used:g}"),
            ("x-rate-limit", f"{self._per_s:g}"),
            ("x-rate-limit-remaining", str(left)),
        ]


class _Raws(msgspec.Struct):
    messages: list[msgspec.Raw] = []


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def _message(sent: dict[str, Any], payload: bytes) -> TopicMessage:
    return TopicMessage(
        topic=sent["topic"].removeprefix(TOPIC_PREFIX),
        is_private=_is_true(sent.get("private")),
        event=sent["event"],
        payload=payload,
        form=PayloadForm.JSON,
        id=sent.get("id") or "",
    )


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _single_address(path: str) -> tuple[str, str] | None:
    """Return topic and event of `/api/broadcast/{topic}/events/{event}`; None for the path of batches."""
    parts = path.rstrip("/").split("/")
    if len(parts) < 4:
        return None
    topic, event = (unquote(part) for part in (parts[3], parts[5] if len(parts) > 5 else ""))
    return topic, event


def is_broadcast(path: str) -> bool:
    """Return whether a path is one of the two."""
    parts = path.rstrip("/").split("/")
    return parts[:3] == ["", "api", "broadcast"] and (
        len(parts) == 3 or (len(parts) == 6 and parts[4] == "events")
    )


def _json_response(status: int, body: dict[str, Any], headers: Headers | None = None) -> Response:
    return Response(status, [JSON, *(headers or [])], msgspec.json.encode(body))


def _invalid(errors: dict[str, Any]) -> Response:
    return _json_response(422, {"errors": errors})
