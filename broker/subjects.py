"""Every subject, its pool, and which wing may speak or listen on it. Nothing of this is spelled elsewhere.

Requests go to one member of a pool (a queue group of the same name); the reply goes to the asker's inbox.
Beside its requests a pool has four subjects: `cancel.` (all members hear which request is not wanted any more),
`probe.` (all members say which requests they hold), `alive.` (a member tells that it joins) and, for each member,
`member.`, on which it listens and never answers: NATS itself tells the asker when nobody listens there any more.

An inbox is `_INBOX.<user>.<random>.<token>`. Everyone may publish to inboxes, each user hears only its own, and
nobody can guess the random part: so replies, chunks of bodies and credit (`broker/requests/body.py`) travel there.

    wing       publishes                                           listens
    door       requests, cancels, probes of every pool, metrics,   own inbox, alive, events, changes, messages, gaps,
               rooms, presence, edges, client positions; reads     rooms, presence, edges
               the stream CHANGES
    pool       events, letters, logs, requests of ASKED_BY_POOLS;  own inbox, everything the pools serve, events
               makes, changes and reads their streams
    changes    changes, messages, gaps, catalog, config, faults;  own inbox, what the pool realtime serves, events,
               makes, changes, moves and deletes the stream       client positions
               CHANGES alone
    platform   everything                                          everything

`door` are the edges, `changes` the workers of the pools replication and realtime, `pool` all other workers, `platform` who
administers the server by hand: no process has its password.

What a user may not is refused by the server, for all that is not listed is forbidden: no user but `platform` may delete or
purge a stream, with the exception of `changes` for its own, whose ids must be forgotten when the database is another one.
A user hears the inboxes of all processes that share its name, and edges name the caller of a request: so whoever takes over
an edge may ask as anybody, and whoever takes over a worker may answer for other workers of its user.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

_PLAIN = re.compile(r"[^\s*>]+")


class Subject(Struct, frozen=True):
    """A name to publish on; for requests also the pool that serves it. An event has no pool.

    Raises: ValueError for a name with blanks or wildcards in it.
    """

    name: str
    pool: str = ""

    def __post_init__(self) -> None:
        if not _PLAIN.fullmatch(self.name) or ".." in f".{self.name}.":
            raise ValueError(f"{self.name!r} is no subject")


REST = Subject("rest.request", "rest")
GRAPHQL = Subject("graphql.request", "graphql")
AUTH = Subject("auth.request", "auth")
STORAGE = Subject("storage.request", "storage")
IMAGES = Subject("images.request", "images")
FUNCTIONS = Subject("functions.request", "functions")
REALTIME = Subject("realtime.request", "realtime")

REQUESTS = (REST, GRAPHQL, AUTH, STORAGE, IMAGES, FUNCTIONS, REALTIME)
"""Subjects served as `Request` -> `Response` (schemas/http.py)."""
ASKED_BY_POOLS = (IMAGES, FUNCTIONS)
"""Pools that other pools ask: storage has images rendered, the scheduler calls functions."""

READS_REPEAT = frozenset({"rest", "graphql", "storage"})
"""Pools in which GET and HEAD change nothing, so that a request whose answer was lost can be sent again."""

KEYED_WRITES_REPEAT = frozenset({"rest", "graphql"})
"""Pools in which a write that carries `IDEMPOTENCY_KEY` is carried out once, however often it is sent (workers/idempotency)."""
IDEMPOTENCY_KEY = "idempotency-key"
IDEMPOTENCY_REPLAYED = "idempotency-replayed"
"""Header of an answer that was given before."""

CATALOG_CHANGED = Subject("events.catalog")
"""schemas.events.CatalogChanged"""
CONFIG_CHANGED = Subject("events.config")
"""schemas.events.ConfigChanged"""
KEYS_CHANGED = Subject("events.keys")
"""schemas.events.KeysChanged"""
FUNCTIONS_CHANGED = Subject("events.functions")
"""schemas.events.FunctionsChanged"""
FAULTS = Subject("events.faults")
"""schemas.faults.FaultReport"""
FUNCTIONS_WANTED = Subject("health.functions.wanted")
"""For a functions worker that waits for the first function (workers/functions/waiting.py): a word of a door wakes it, a
question of a door is answered by an empty message."""

LETTERS_STREAM = "LETTERS"
LETTERS = Subject("mail.letters")
"""schemas.events.Letter, kept by the stream LETTERS until it is handed to a mail server"""

GAPS = Subject("gaps.changes")
"""schemas.changes.Gap"""
CHANGES_STREAM = "CHANGES"
"""Name of the stream that keeps row changes, stored messages and gaps for a while (schemas/changes.py)."""
CHANGES_KEPT = ("changes.>", "messages.>", "gaps.>")
"""Subjects of that stream."""
EDGES = Subject("edges.realtime")
"""Heartbeats of the realtime edges, by which the entries of a dead one are dropped (services/realtime)."""
CLIENT_POSITIONS = Subject("positions.realtime")
"""schemas.realtime.ClientPositions: from the realtime edges to every member of the pool realtime, not kept."""

STORAGE_EVENTS_STREAM = "STORAGE_EVENTS"
STORAGE_EVENTS = "events.storage.>"
"""schemas.storage_events.StorageEvent, as JSON, each on `storage_event(bucket, kind)`; kept by the stream STORAGE_EVENTS"""

FUNCTION_LOGS = "FUNCTION_LOGS"
"""Name of the stream that keeps the lines of functions for a while."""
FUNCTION_LOGS_KEPT = "logs.functions.>"
"""schemas.functions.log_events.LogLine, each on `function_log(name)`"""

METRICS_COLLECT = "metrics.collect"
"""Every process answers with its metrics (broker/observability/metrics.py)."""
ALIVE = "alive.>"
"""All members of all pools as they join."""

WINGS = ("door", "pool", "changes", "platform")
"""Users of the embedded server."""


def health(pool: str) -> Subject:
    """Give the request that asks a pool whether it can work; a queue group of its own, so that load does not hide it."""
    return Subject(f"health.{pool}", f"health.{pool}")


def cancel(pool: str) -> str:
    """Give the subject on which a pool hears which requests are not wanted any more."""
    return f"cancel.{pool}"


def probe(pool: str) -> str:
    """Give the subject on which all members of a pool are asked which requests they hold."""
    return f"probe.{pool}"


def alive(pool: str) -> str:
    """Give the subject on which a member tells that it joins its pool."""
    return f"alive.{pool}"


def member(name: str) -> str:
    """Give the subject to which one member listens as long as its process is connected."""
    return f"member.{name}"


def token(name: str) -> str:
    """Give a name as one part of a subject: letters, digits, `_` and `-` as they are, other bytes as `=XX`. Reversible."""
    return "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "_-") else "".join(f"={b:02X}" for b in sign.encode())
        for sign in name
    ) or "="  # fmt: skip


def canary(stream: str) -> Subject:
    """Return the subject of the messages that show whether a stream stores (broker/jetstream/stream_watch.py). Nothing reads them."""
    return Subject(f"events.canary.{stream}")


def changes(schema: str, table: str) -> Subject:
    """Give the subject of row changes of one table (schemas.changes.Batch)."""
    return Subject(f"changes.{token(schema)}.{token(table)}")


def storage_event(bucket: str, kind: str) -> Subject:
    """Give the subject of one kind of events about a bucket and its objects (schemas.storage_events.StorageEvent)."""
    return Subject(f"events.storage.{token(bucket)}.{kind}")


def function_log(name: str) -> Subject:
    """Give the subject of what a function prints and what happens to its processes (schemas.functions.log_events.LogLine)."""
    return Subject(f"logs.functions.{token(name)}")


def messages(topic: str, *, is_private: bool) -> Subject:
    """Give the subject of messages to a room that were stored in the database (schemas.changes.Sent)."""
    return Subject(f"messages.{_room(topic, is_private)}")


def room(topic: str, *, is_private: bool) -> Subject:
    """Give the subject of messages to a room that come from clients and are not kept (services/realtime/rooms.py)."""
    return Subject(f"rooms.{_room(topic, is_private)}")


def presence(topic: str, *, is_private: bool) -> Subject:
    """Give the subject on which edges tell each other who is in a room (services/realtime/presence.py)."""
    return Subject(f"presence.{_room(topic, is_private)}")


def _room(topic: str, is_private: bool) -> str:
    """Give the parts for a room: topics are of any length and any signs, so they are hashed."""
    return f"{'prv' if is_private else 'pub'}.{hashlib.sha256(topic.encode()).hexdigest()[:32]}"


def inbox(user: str, random: str) -> str:
    """Give the prefix of a process's inbox. A user name that is no part of a subject counts as none."""
    return f"_INBOX.{user if re.fullmatch(r'[A-Za-z0-9_-]+', user) else 'open'}.{random}."


def is_inbox(name: str) -> bool:
    """Tell whether a subject named by a peer is an inbox, and nothing that could be a command or a wildcard."""
    return name.startswith("_INBOX.") and _PLAIN.fullmatch(name) is not None


def authorization(passwords: Mapping[str, str]) -> str:
    """Give the `authorization` block of a nats-server configuration (pure): one user for each wing of `passwords`.

    The text holds the passwords: write it only to a file that its owner alone may read.
    """
    users = [_user(wing, passwords[wing]) for wing in WINGS if wing in passwords]
    return "\n".join(["authorization {", "  users: [", *users, "  ]", "}"])


def _user(wing: str, password: str) -> str:
    publish, listen = _rights(wing)
    return "\n".join([
        "    {",
        f"      user: {json.dumps(wing)}, password: {json.dumps(password)}",
        f"      permissions: {{ publish: {{ allow: {_list(publish)} }}, subscribe: {{ allow: {_list(listen)} }} }}",
        "    }",
    ])  # fmt: skip


def _rights(wing: str) -> tuple[list[str], list[str]]:
    """Give what a wing may publish and hear."""
    own_inbox = f"_INBOX.{wing}.>"
    match wing:
        case "door":
            return (
                [
                    "_INBOX.>",
                    *_asking(REQUESTS),
                    "health.>",
                    "member.>",
                    METRICS_COLLECT,
                    CLIENT_POSITIONS.name,
                    *_ROOMS,
                    *_reading(CHANGES_STREAM),
                ],
                [own_inbox, ALIVE, "events.>", METRICS_COLLECT, *_ROOMS, *CHANGES_KEPT],
            )
        case "pool":
            served = [subject.name for subject in REQUESTS]
            return (
                [
                    "_INBOX.>",
                    ALIVE,
                    "events.>",
                    LETTERS.name,
                    FUNCTION_LOGS_KEPT,
                    *(right for stream in _POOL_STREAMS for right in (*_keeping(stream), *_reading(stream))),
                    *_asking(ASKED_BY_POOLS),
                    "member.>",
                ],
                [own_inbox, *served, *_SERVING, "health.>", "cancel.>", "probe.>"],
            )
        case "changes":
            own = (REALTIME.pool, health(REALTIME.pool).pool)
            return (
                [
                    "_INBOX.>",
                    ALIVE,
                    "member.>",
                    CATALOG_CHANGED.name,
                    CONFIG_CHANGED.name,
                    FAULTS.name,
                    *CHANGES_KEPT,
                    *_keeping(CHANGES_STREAM),
                    f"$JS.API.STREAM.DELETE.{CHANGES_STREAM}",
                    f"$JS.API.STREAM.LEADER.STEPDOWN.{CHANGES_STREAM}",
                    *_reading(CHANGES_STREAM),
                ],
                [
                    own_inbox,
                    REALTIME.name,
                    CLIENT_POSITIONS.name,
                    *_SERVING,
                    health(REALTIME.pool).name,
                    *(subject(pool) for subject in (cancel, probe) for pool in own),
                ],
            )
    return [">"], [">"]


_ROOMS = ("rooms.>", "presence.>", EDGES.name)
_SERVING = (ALIVE, "member.>", "events.>", METRICS_COLLECT)
"""What every worker hears beside its requests."""
_POOL_STREAMS = (LETTERS_STREAM, STORAGE_EVENTS_STREAM, FUNCTION_LOGS)


def _keeping(stream: str) -> list[str]:
    """Return the subjects that one must publish on to make a stream and to bring it to the limits of the settings."""
    return [f"$JS.API.STREAM.{order}.{stream}" for order in ("INFO", "CREATE", "UPDATE")]


def _reading(stream: str) -> list[str]:
    """Give the subjects that one must publish on to read a stream: no right to change it or what it holds."""
    return [
        f"$JS.API.STREAM.INFO.{stream}",
        f"$JS.API.STREAM.MSG.GET.{stream}",
        f"$JS.API.DIRECT.GET.{stream}",
        f"$JS.API.DIRECT.GET.{stream}.>",
        f"$JS.API.CONSUMER.CREATE.{stream}",
        f"$JS.API.CONSUMER.CREATE.{stream}.>",
        f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.>",
        f"$JS.API.CONSUMER.INFO.{stream}.>",
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.>",
        f"$JS.API.CONSUMER.DELETE.{stream}.>",
        f"$JS.ACK.{stream}.>",
    ]


def _asking(asked: Iterable[Subject]) -> list[str]:
    """Give the subjects that one must publish on to ask these pools."""
    return [
        name
        for subject in asked
        for name in (
            subject.name,
            *(f(p) for f in (cancel, probe) for p in (subject.pool, health(subject.pool).pool)),
        )
    ]


def _list(names: Iterable[str]) -> str:
    return "[" + ", ".join(json.dumps(name) for name in names) + "]"
