"""The payload of a join -> what the client wants of the channel. Pure.

Whatever is missing or of a wrong form counts as its default and is named in `ignored`: a join never fails for its form.
Clients of the first generation send no `config`: their topic `realtime:schema[:table[:filter]]` is the subscription.
Source: reference page "realtime", sections 4 and 9.
"""

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.changes import Position
from schemas.realtime import Entry
from services.realtime.rooms import PREFIX

_EVENTS = frozenset({"INSERT", "UPDATE", "DELETE", "*"})
_MOST_IDS = 2**27 - 1
_LATEST_MS = 2**53
MOST_REPLAYED = 25


@dataclass(frozen=True, slots=True)
class Wanted:
    """A subscription to row changes: what it means, or why it means nothing; and the number that frames name it by."""

    sent: dict[str, Any]
    id: int
    entry: Entry | None
    error: str = ""

    def reply(self) -> dict[str, Any]:
        """Give it as the answer to the join names it."""
        return {**self.sent, "id": self.id}


@dataclass(frozen=True, slots=True)
class ReplayWanted:
    """Stored messages that shall come again; `is_valid` is false where the numbers cannot be used."""

    since: int = 0
    limit: int = MOST_REPLAYED
    is_valid: bool = True


@dataclass(frozen=True, slots=True)
class Join:
    """What a client wants of a channel. Tokens are no part of its `repr`."""

    is_private: bool = False
    has_ack: bool = False
    has_self: bool = False
    wants_replication_ready: bool = False
    replay: ReplayWanted | None = None
    presence: bool | None = None
    """None: as the project has it by default."""
    presence_key: str = ""
    changes: tuple[Wanted, ...] = ()
    has_too_many: bool = False
    """There were more entries of row changes than may be: none of them was read."""
    is_old: bool = False
    """The topic is the subscription; changes are pushed under the names of their events."""
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
        """The token to join with; None: the connection's own key decides. Opaque keys are no tokens."""
        for token in (self.user_token, self.access_token):
            if token:
                return None if token.startswith("sb_") else token
        return None


def parse_join(payload: bytes, new_key: str | None = None, topic: str = "", *, most_changes: int = 0) -> Join:
    """Read the payload of a join (JSON text) to a topic. `new_key` is the presence key of a client that names none.

    Of more than `most_changes` entries of row changes none is read (`has_too_many`); 0 is no limit.
    """
    ignored: list[str] = []
    root = _table(_decoded(payload), "payload", ignored)
    old = _changes_of(topic) if "config" not in root else ()
    config = _table(root.get("config"), "config", ignored)
    broadcast = _table(config.get("broadcast"), "broadcast", ignored)
    presence = _table(config.get("presence"), "presence", ignored)
    resume, resume_error = _resume(config.get("resume"))
    entries = config.get("postgres_changes")
    has_too_many = isinstance(entries, list) and 0 < most_changes < len(entries)
    return Join(
        is_private=_flag(config.get("private"), "private", ignored) or False,
        has_ack=_flag(broadcast.get("ack"), "ack", ignored) or False,
        has_self=_flag(broadcast.get("self"), "self", ignored) or False,
        wants_replication_ready=_flag(broadcast.get("replication_ready"), "replication_ready", ignored)
        or False,
        replay=_replay(broadcast.get("replay")),
        presence=_flag(presence.get("enabled"), "enabled", ignored),
        presence_key=_key(presence.get("key")) or new_key or str(uuid.uuid4()),
        changes=old or _changes(None if has_too_many else entries, ignored),
        has_too_many=has_too_many,
        is_old=bool(old),
        resume=resume,
        resume_error=resume_error,
        user_token=_text(root.get("user_token"), "user_token", ignored),
        access_token=_text(root.get("access_token"), "access_token", ignored),
        ignored=tuple(ignored),
    )


def entry_id(entry: Entry) -> int:
    """Give the number of an entry: never 0, and the same for equal entries everywhere and always."""
    return _hash(msgspec.msgpack.encode(entry))


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
    """Read true or false, also as text in any letter case."""
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
    """Read a presence key: clients send any value."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _replay(value: Any) -> ReplayWanted | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        return ReplayWanted(is_valid=False)
    since: Any = value.get("since")
    limit: Any = value.get("limit")
    limit = MOST_REPLAYED if limit is None else limit
    if not (_is_whole(since) and _is_whole(limit) and 0 <= since <= _LATEST_MS and limit >= 1):
        return ReplayWanted(is_valid=False)
    return ReplayWanted(since, min(limit, MOST_REPLAYED))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _resume(value: Any) -> tuple[Position | None, str]:
    if value is None:
        return None, ""
    try:
        return Position.parse(value if isinstance(value, str) else ""), ""
    except ValueError as error:
        return None, str(error)


def _changes(value: Any, ignored: list[str]) -> tuple[Wanted, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        ignored.append("postgres_changes")
        return ()
    found = []
    for each in value:
        if isinstance(each, dict):
            found.append(_wanted(each))
        elif each is not None:
            ignored.append("postgres_changes")
    return tuple(found)


def _changes_of(topic: str) -> tuple[Wanted, ...]:
    """Read a topic as a subscription, if it looks like one: of all tables, of a schema and a table, of `public`."""
    schema, _, rest = topic.removeprefix(PREFIX).partition(":")
    table, _, filter = rest.partition(":")
    if not table and schema not in ("*", "public"):
        return ()
    return (_wanted({"event": "*", "schema": schema, "table": table or "*", "filter": filter}),)


def _wanted(sent: dict[str, Any]) -> Wanted:
    event, schema, table, filter = (sent.get(name) for name in ("event", "schema", "table", "filter"))
    shown = msgspec.json.encode(sent).decode()
    refused = _hash(shown.encode())
    if not _is_name(schema) or not _is_name(table) or not (schema or table):
        return Wanted(
            sent,
            refused,
            None,
            "No subscription params provided. Please provide at least a `schema` or `table` to subscribe to: "
            + shown,
        )
    if not (filter is None or isinstance(filter, str)):
        told = msgspec.json.encode(filter).decode()
        return Wanted(sent, refused, None, f"Error parsing `filter` params: {told}")
    upper = event.upper() if isinstance(event, str) else "*"
    entry = Entry(
        event=upper if upper in _EVENTS else "*",
        schema=schema or "public",
        table=table or "*",
        filter=filter or "",
        select=_select(sent.get("select")),
    )
    return Wanted(sent, entry_id(entry), entry)


def _is_name(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _select(value: Any) -> list[str] | None:
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, list) or not value or value == ["*"]:
        return None
    return [name for name in value if isinstance(name, str)] or None
