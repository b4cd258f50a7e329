"""Define the broker's users and which subjects each may publish on and subscribe to, as configuration of nats-server.

    user       publishes                                           subscribes
    door       requests, cancels, probes of every pool, metrics,   own inbox, alive, events, changes, messages, gaps,
               broadcasts, presence, edges, client positions,      broadcasts, presence, edges
               log lines; reads the stream CHANGES; creates,
               reads and writes the bucket CERTIFICATES
    pool       events, emails, logs, metrics, the wake-up of       own inbox, everything the pools serve, events
               functions, requests of POOL_TO_POOL; creates,
               updates and reads their streams; reads the stream CHANGES
    changes    changes, messages, gaps, catalog, config, faults,   own inbox, what realtime and sync serve, events,
               log lines; creates, updates, moves and deletes      client positions
               the stream CHANGES alone
    platform   everything                                          everything

The user `door` is for the edges, `changes` for the workers of the pools replication and realtime, `pool` for all
other workers, `platform` for an operator who administers the server by hand. No process has the password of
`platform`.

The server rejects everything that is not listed here. No user but `platform` may delete or purge a stream, except
`changes` its own: the ids that it remembers must go when the database is replaced. A user can read the inboxes of all
processes with the same user name, and edges name the caller of a request. So a client that takes over an edge can
send requests as any caller, and one that takes over a worker can answer for other workers of its user.
"""

import json
from collections.abc import Iterable, Mapping

from broker.subjects import (
    ALIVE,
    ARCHIVE_PLAN,
    AUTH_SETTINGS,
    CATALOG_CHANGED,
    CERTIFICATE_RENEWAL_SUBJECT,
    CERTIFICATE_REPORT_READING,
    CERTIFICATES_STREAM,
    CERTIFICATES_SUBJECTS,
    CHANGES_STREAM,
    CHANGES_SUBJECTS,
    CLIENT_POSITIONS,
    CONFIG_CHANGED,
    EDGE_SETTINGS,
    EDGES,
    EMAILS,
    EMAILS_STREAM,
    FAULTS,
    FORMER_EMAILS,
    FORMER_EMAILS_STREAM,
    FUNCTION_LOGS,
    FUNCTION_LOGS_SUBJECTS,
    FUNCTIONS_WAKE,
    LOGS_STREAM,
    METRICS_COLLECT,
    POOL_TO_POOL,
    REALTIME,
    REQUESTS,
    SETTINGS_CHANGED,
    SHAPES_CHANGED,
    STORAGE_EVENTS_STREAM,
    SYNC,
    Subject,
    cancel,
    health,
    log_lines,
    probe,
)

EDGE_USER = "door"
"""The user of the edges. Deployed nats-servers and stored secrets have this name, and it is part of inboxes and of the subject of log
lines: to rename it, two releases would have to know both names in all of these places (docs/decisions.md)."""
PROCESS_USERS = (EDGE_USER, "pool", "changes")
"""Users whose passwords processes of the platform have."""
BROKER_USERS = (*PROCESS_USERS, "platform")
"""Users of the embedded server."""

_Rights = tuple[list[str], list[str]]
"""Subjects to publish on, and subjects to subscribe to."""


def authorization(passwords: Mapping[str, str]) -> str:
    """Return the `authorization` block of a nats-server configuration (pure): one user for each name in `passwords`.

    The text contains the passwords: write it only to a file that its owner alone may read.
    """
    users = [_user(user, passwords[user]) for user in BROKER_USERS if user in passwords]
    return "\n".join(["authorization {", "  users: [", *users, "  ]", "}"])


def _user(user: str, password: str) -> str:
    publish, subscribe = _rights(user)
    return "\n".join([
        "    {",
        f"      user: {json.dumps(user)}, password: {json.dumps(password)}",
        f"      permissions: {{ publish: {{ allow: {_list(publish)} }}, subscribe: {{ allow: {_list(subscribe)} }} }}",
        "    }",
    ])  # fmt: skip


def _rights(user: str) -> _Rights:
    """Return the subjects that a user may publish on and subscribe to."""
    inbox = f"_INBOX.{user}.>"
    if user == EDGE_USER:
        return _edge_rights(inbox)
    if user == "pool":
        return _pool_rights(inbox)
    if user == "changes":
        return _changes_rights(inbox)
    return [">"], [">"]


def _edge_rights(inbox: str) -> _Rights:
    return (
        [
            "_INBOX.>",
            *_requesting((*REQUESTS, EDGE_SETTINGS)),
            "health.>",
            "member.>",
            METRICS_COLLECT,
            CLIENT_POSITIONS.name,
            log_lines(EDGE_USER).name,
            *_BROADCASTS,
            *_stream_reading(CHANGES_STREAM),
            *_stream_keeping(CERTIFICATES_STREAM),
            f"$JS.API.DIRECT.GET.{CERTIFICATES_STREAM}.>",
            CERTIFICATES_SUBJECTS,
        ],
        [inbox, ALIVE, "events.>", METRICS_COLLECT, *_BROADCASTS, *CHANGES_SUBJECTS],
    )


def _pool_rights(inbox: str) -> _Rights:
    served = [subject.name for subject in (*REQUESTS, EDGE_SETTINGS, AUTH_SETTINGS) if subject is not SYNC]
    return (
        [
            "_INBOX.>",
            ALIVE,
            "events.>",
            EMAILS.name,
            FORMER_EMAILS.name,
            FUNCTION_LOGS_SUBJECTS,
            log_lines("pool").name,
            *(
                right
                for stream in _POOL_STREAMS
                for right in (*_stream_keeping(stream), *_stream_reading(stream))
            ),
            *_stream_reading(CHANGES_STREAM),
            *_requesting((*POOL_TO_POOL, AUTH_SETTINGS)),
            "member.>",
            METRICS_COLLECT,
            FUNCTIONS_WAKE.name,
            CERTIFICATE_REPORT_READING,
            CERTIFICATE_RENEWAL_SUBJECT,
            ARCHIVE_PLAN.name,
        ],
        [inbox, *served, ARCHIVE_PLAN.name, *_SERVING, "health.>", "cancel.>", "probe.>"],
    )


def _changes_rights(inbox: str) -> _Rights:
    pools = (REALTIME.pool, health(REALTIME.pool).pool, SYNC.pool, health(SYNC.pool).pool, EDGE_SETTINGS.pool)
    return (
        [
            "_INBOX.>",
            ALIVE,
            "member.>",
            CATALOG_CHANGED.name,
            CONFIG_CHANGED.name,
            SETTINGS_CHANGED.name,
            FAULTS.name,
            SHAPES_CHANGED.name,
            log_lines("changes").name,
            *CHANGES_SUBJECTS,
            *_stream_keeping(CHANGES_STREAM),
            f"$JS.API.STREAM.DELETE.{CHANGES_STREAM}",
            f"$JS.API.STREAM.LEADER.STEPDOWN.{CHANGES_STREAM}",
            *_stream_reading(CHANGES_STREAM),
        ],
        [
            inbox,
            REALTIME.name,
            SYNC.name,
            EDGE_SETTINGS.name,
            CLIENT_POSITIONS.name,
            *_SERVING,
            health(REALTIME.pool).name,
            health(SYNC.pool).name,
            *(subject(pool) for subject in (cancel, probe) for pool in pools),
        ],
    )


_BROADCASTS = ("rooms.>", "presence.>", EDGES.name)
_SERVING = (ALIVE, "member.>", "events.>", METRICS_COLLECT)
"""What every worker subscribes to beside its requests."""
_POOL_STREAMS = (EMAILS_STREAM, FORMER_EMAILS_STREAM, STORAGE_EVENTS_STREAM, FUNCTION_LOGS, LOGS_STREAM)


def _stream_keeping(stream: str) -> list[str]:
    """Return the subjects to publish on to create a stream and to update it to the limits of the settings."""
    return [f"$JS.API.STREAM.{operation}.{stream}" for operation in ("INFO", "CREATE", "UPDATE")]


def _stream_reading(stream: str) -> list[str]:
    """Return the subjects to publish on to read a stream; they do not allow to change it or its messages."""
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


def _requesting(targets: Iterable[Subject]) -> list[str]:
    """Return the subjects to publish on to send requests to these pools."""
    return [
        name
        for subject in targets
        for name in (
            subject.name,
            *(f(p) for f in (cancel, probe) for p in (subject.pool, health(subject.pool).pool)),
        )
    ]


def _list(names: Iterable[str]) -> str:
    return "[" + ", ".join(json.dumps(name) for name in names) + "]"
