"""Parses the payload of a join: what the client requests of the channel. Pure.

Members that are missing or of a wrong form get their default and are listed in `ignored`: a join is never rejected for its
form. Clients of the first generation send no `config`; their topic `realtime:schema[:table[:filter]]` is the subscription.
Source: docs/reference/realtime.md, sections 4 and 9.
"""

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.changes import Position
from schemas.realtime import ChangeSubscription
from services.realtime.protocol.frames import TOPIC_PREFIX

_EVENTS = frozenset({"INSERT", "UPDATE", "DELETE", "*"})
_MOST_IDS = 2**27 - 1
_LATEST_MS = 2**53
MOST_REPLAYED = 25


@dataclass(frozen=True, slots=True)
class JoinSubscription:
    """A subscription of a join: the client's JSON object, the number that frames use for it, and its meaning or an error."""

    sent: dict[str, Any]
    id: int
    subscription: ChangeSubscription | None
    error: str = ""

    def reply(self) -> dict[str, Any]:
        """Return its member of the reply to the join."""
        return {**self.sent, "id": self.id}


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The stored messages that the client requests again. `is_valid` is false if the numbers cannot be used."""

    since: int = 0
    limit: int = MOST_REPLAYED
    is_valid: bool = True


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """What a client requests of a channel. Its `repr` shows no tokens."""

    is_private: bool = False
    has_ack: bool = False
    has_self: bool = False
    wants_replication_ready: bool = False
    replay: ReplayRequest | None = None
    presence: bool | None = None
    """None: the project's default."""
    presence_key: str = ""
    changes: tuple[JoinSubscription, ...] = ()
    has_too_many: bool = False
    """The join has more subscriptions than allowed; none of them was read."""
    is_old: bool = False
    """The topic is the subscription; each change is sent as a frame with the name of its event."""
    resume: Position | None = None
    resume_error: str = ""
    user_token: str | None = None
    access_token: str | None = None
    ignored: tuple[str, ...] = ()
    """Members that were of a wrong form."""

    def __repr__(self) -> str:
        return f"Join(is_private={self.is_private}, changes={len(self.changes)})"

    @property
    def token(self) -> str | None:
        """Return the token of the join; None if the key of the connection is used. An opaque key is not a token."""
        for token in (self.user_token, self.access_token):
            if token:
                return None if token.startswith("sb_") else token
        return None


def parse_join(
    payload: bytes, new_key: str | None = None, topic: str = "", *, most_changes: int = 0
) -> JoinRequest:
    """Parse the payload of a join (JSON text) to a topic. `new_key` is the presence key of a client that names none.

    If there are more than `most_changes` subscriptions, none is read (`has_too_many`); 0: unlimited.
    """
    ignored: list[str] = []
    root = _table(_decoded(payload), "payload", ignored)
    old = _changes_of(topic) if "config" not in root else ()
    config = _table(root.get("config"), "config", ignored)
    broadcast = _table(config.get("broadcast"), "broadcast", ignored)
    presence = _table(config.get("presence"), "presence", ignored)
    resume, resume_error = _resume(config.get("resume"))
    requested = config.get("postgres_changes")
    has_too_many = isinstance(requested, list) and 0 < most_changes < len(requested)
    return JoinRequest(
        is_private=_flag(config.get("private"), "private", ignored) or False,
        has_ack=_flag(broadcast.get("ack"), "ack", ignored) or False,
        has_self=_flag(broadcast.get("self"), "self", ignored) or False,
        wants_replication_ready=_flag(broadcast.get("replication_ready"), "replication_ready", ignored)
        or False,
        replay=_replay(broadcast.get("replay")),
        presence=_flag(presence.get("enabled"), "enabled", ignored),
        presence_key=_key(presence.get("key")) or new_key or str(uuid.uuid4()),
        changes=old or _changes(None if has_too_many else requested, ignored),
        has_too_many=has_too_many,
        is_old=bool(old),
        resume=resume,
        resume_error=resume_error,
        user_token=_text(root.get("user_token"), "user_token", ignored),
        access_token=_text(root.get("access_token"), "access_token", ignored),
        ignored=tuple(ignored),
    )


def subscription_id(subscription: ChangeSubscription) -> int:
    """Return the number of a subscription: never 0, and equal for equal subscriptions on every edge and in every version."""
    return _hash(msgspec.msgpack.encode(subscription))


def _hash(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest()[:4], "big") % _MOST_IDS + 1


def _decoded(payload: bytes) -> Any:
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return payload


def _table(value: Any, name: str, ignored: list[str]) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if value is not None:
        ignored.append(name)
    return {}


def _flag(value: Any, name: str, ignored: list[str]) -> bool | None:
    """Return a boolean, also of a text in upper or lower case."""
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.lower(), value)
    if value is None or isinstance(value, bool):
        return value
    ignored.append(name)
    return None


def _text(value: Any, name: str, ignored: list[str]) -> str | None:
    if value is None or isinstance(value, str):
        return value
    ignored.append(name)
    return None


def _key(value: Any) -> str:
    """Return a presence key; values other than texts become their JSON text."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _replay(value: Any) -> ReplayRequest | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        return ReplayRequest(is_valid=False)
    since: Any = value.get("since")
    limit: Any = value.get("limit")
    limit = MOST_REPLAYED if limit is None else limit
    if not (_is_whole(since) and _is_whole(limit) and 0 <= since <= _LATEST_MS):
        return ReplayRequest(is_valid=False)
    return ReplayRequest(since, max(1, min(limit, MOST_REPLAYED)))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _resume(value: Any) -> tuple[Position | None, str]:
    if value is None:
        return None, ""
    try:
        return Position.parse(value if isinstance(value, str) else ""), ""
    except ValueError as error:
        return None, str(error)


def _changes(value: Any, ignored: list[str]) -> tuple[JoinSubscription, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        ignored.append("postgres_changes")
        return ()
    requested = []
    for item in value:
        if isinstance(item, dict):
            requested.append(_subscription(item))
        elif item is not None:
            ignored.append("postgres_changes")
    return tuple(requested)


def _changes_of(topic: str) -> tuple[JoinSubscription, ...]:
    """Parse a topic as a subscription, if it names all tables, the schema `public`, or a schema and a table."""
    schema, _, rest = topic.removeprefix(TOPIC_PREFIX).partition(":")
    table, _, filter = rest.partition(":")
    if not table and schema not in ("*", "public"):
        return ()
    return (_subscription({"event": "*", "schema": schema, "table": table or "*", "filter": filter}),)


def _subscription(sent: dict[str, Any]) -> JoinSubscription:
    event, schema, table, filter = (sent.get(name) for name in ("event", "schema", "table", "filter"))
    text = msgspec.json.encode(sent).decode()
    id_of_rejected = _hash(text.encode())
    if not _is_name(schema) or not _is_name(table) or not (schema or table):
        return JoinSubscription(
            sent,
            id_of_rejected,
            None,
            "No subscription params provided. Please provide at least a `schema` or `table` to subscribe to: "
            + text,
        )
    if not (filter is None or isinstance(filter, str)):
        filter_text = msgspec.json.encode(filter).decode()
        error = f"Error parsing `filter` params: {filter_text}"
        return JoinSubscription(sent, id_of_rejected, None, error)
    upper = event.upper() if isinstance(event, str) else "*"
    subscription = ChangeSubscription(
        event=upper if upper in _EVENTS else "*",
        schema=schema or "public",
        table=table or "*",
        filter=filter or "",
        select=_select(sent.get("select")),
    )
    return JoinSubscription(sent, subscription_id(subscription), subscription)


def _is_name(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _select(value: Any) -> list[str] | None:
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, list) or not value or value == ["*"]:
        return None
    return [name for name in value if isinstance(name, str)] or None
