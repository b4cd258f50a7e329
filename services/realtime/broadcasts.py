"""Broadcasts over HTTP: many messages in one JSON body, or one message whose body is the payload.

    POST /api/broadcast                             {"messages": [{"topic", "event", "payload", "private"?, "id"?}]}
    POST /api/broadcast/{topic}/events/{event}      any JSON, or bytes; ?private=true

202 once the messages are handed over. What may not be sent to a private room is left out of a batch, and is 403 alone.
Source: reference page "realtime", sections 1 and 7.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec

from schemas.http import Headers, Response
from services.middleware.refusals import JSON
from services.realtime.frames import is_json
from services.realtime.hub import Hub
from services.realtime.limits import Rate
from services.realtime.questions import Questions
from services.realtime.rooms import PREFIX, Form, Message
from services.realtime.tokens import Identity

_OVER_S = 10.0
_MOST_KEYS = 10_000
_SPARE = 500


@dataclass(frozen=True, slots=True)
class Posted:
    """A request as it concerns broadcasts."""

    path: str
    """Below the prefix of the area."""
    query: str
    content_type: str
    body: bytes
    identity: Identity
    headers: dict[str, str]
    """The `x-...` headers."""
    key: str
    """What its rate is counted by."""


class Broadcasts:
    """Sends what comes over HTTP to rooms."""

    def __init__(self, hub: Hub, questions: Questions, max_payload: int, per_s: float) -> None:
        self._hub = hub
        self._questions = questions
        self._max_payload = max_payload + _SPARE
        self._per_s = per_s
        self._rates: dict[str, Rate] = {}

    async def answer(self, posted: Posted, now: float) -> Response:
        """Answer a broadcast. Raises: Unavailable, DeadlineExceeded, Refused. `now` is monotonic."""
        found: list[Message] | Response
        single = _address(posted.path)
        found = self._batch(posted.body) if single is None else self._one(posted, *single)
        if isinstance(found, Response):
            return found
        rate = self._rate(posted.key)
        if self._per_s > 0 and len(found) > rate.left(now):
            is_batch = len(found) > 1 and rate.left(now) > 0
            words = (
                "Too many messages to broadcast, please reduce the batch size"
                if is_batch
                else "You have exceeded your rate limit"
            )
            return _said(429, {"message": words}, self._told(rate, now))
        allowed = await self._allowed(posted, found)
        if single is not None and not allowed:
            return _said(403, {"message": "Unauthorized"}, self._told(rate, now))
        for message in allowed:
            rate.take(now)
            self._hub.send(message)
        return Response(202, self._told(rate, now))

    async def _allowed(self, posted: Posted, messages: list[Message]) -> list[Message]:
        """Leave out what the sender may not send. Each private room is asked for once."""
        may: dict[str, bool] = {}
        for topic in dict.fromkeys(message.topic for message in messages if message.is_private):
            may[topic] = await self._questions.may_write(topic, posted.identity, posted.headers, "broadcast")
        return [each for each in messages if not each.is_private or may[each.topic]]

    def _one(self, posted: Posted, topic: str, event: str) -> list[Message] | Response:
        kind = posted.content_type.partition(";")[0].strip().lower()
        is_binary = kind == "application/octet-stream"
        if not is_binary and kind != "application/json":
            return _said(415, {"message": "Unsupported Media Type"})
        if len(posted.body) > self._max_payload:
            return _invalid({"payload": ["Payload size exceeds tenant limit"]})
        if not topic or not event:
            return _invalid({"topic" if not topic else "event": ["can't be blank"]})
        if not is_binary and not is_json(posted.body):
            return _invalid({"payload": ["is invalid"]})
        private = parse_qs(posted.query).get("private", [""])[-1].lower() == "true"
        form = Form.BINARY if is_binary else Form.JSON
        return [Message(topic.removeprefix(PREFIX), private, event, posted.body, form)]

    def _batch(self, body: bytes) -> list[Message] | Response:
        try:
            body.decode()
            read = msgspec.json.decode(body, type=dict[str, Any])
            raw = msgspec.json.decode(body, type=_Raws)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return _invalid({"messages": ["is invalid"]})
        sent = read.get("messages")
        if not isinstance(sent, list) or not sent:
            return _invalid({"messages": ["can't be blank"]})
        wrong = [self._wrong(each, payload) for each, payload in zip(sent, raw.messages, strict=True)]
        if any(wrong):
            return _invalid({"messages": wrong})
        return [
            _message(each, bytes(payload["payload"]))
            for each, payload in zip(sent, map(_members, raw.messages), strict=True)
        ]

    def _wrong(self, sent: Any, raw: msgspec.Raw) -> dict[str, list[str]]:
        """Say what is wrong with a message of a batch, by member."""
        if not isinstance(sent, dict):
            return {"message": ["is invalid"]}
        wrong: dict[str, list[str]] = {}
        for name, kind in (("topic", str), ("event", str), ("payload", dict)):
            value = sent.get(name)
            if value is None or value == "":
                wrong[name] = ["can't be blank"]
            elif not isinstance(value, kind):
                wrong[name] = ["is invalid"]
        if not isinstance(sent.get("id", ""), str | None):
            wrong["id"] = ["is invalid"]
        if len(memoryview(raw)) > self._max_payload:
            wrong["payload"] = ["Payload size exceeds tenant limit"]
        return wrong

    def _rate(self, key: str) -> Rate:
        rate = self._rates.pop(key, None) or Rate(self._per_s, _OVER_S)
        if len(self._rates) >= _MOST_KEYS:
            del self._rates[next(iter(self._rates))]
        self._rates[key] = rate
        return rate

    def _told(self, rate: Rate, now: float) -> Headers:
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


def _message(sent: dict[str, Any], payload: bytes) -> Message:
    return Message(
        topic=sent["topic"].removeprefix(PREFIX),
        is_private=sent.get("private") is True or str(sent.get("private")).lower() == "true",
        event=sent["event"],
        payload=payload,
        form=Form.JSON,
        id=sent.get("id") or "",
    )


def _address(path: str) -> tuple[str, str] | None:
    """Read `/api/broadcast/{topic}/events/{event}`; None for the batch's path."""
    parts = path.rstrip("/").split("/")
    if len(parts) < 4:
        return None
    topic, event = (unquote(part) for part in (parts[3], parts[5] if len(parts) > 5 else ""))
    return topic, event


def is_broadcast(path: str) -> bool:
    """Tell whether a path is one of the two."""
    parts = path.rstrip("/").split("/")
    return parts[:3] == ["", "api", "broadcast"] and (
        len(parts) == 3 or (len(parts) == 6 and parts[4] == "events")
    )


def _said(status: int, told: dict[str, Any], headers: Headers | None = None) -> Response:
    return Response(status, [JSON, *(headers or [])], msgspec.json.encode(told))


def _invalid(errors: dict[str, Any]) -> Response:
    return _said(422, {"errors": errors})
