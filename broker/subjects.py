"""Define every NATS subject, and the pool that serves it.

No other module contains the text of a subject. Requests go to one member of a pool (a queue group of the same name);
the reply goes to the caller's inbox. Beside its requests a pool has four subjects: `cancel.` (all members learn which
request was cancelled), `probe.` (the roll call: all members report which requests they hold), `alive.` (a member
announces itself) and, for each member, `member.`. On the last one NATS itself reports that the member's connection is
closed.

An inbox is `_INBOX.<user>.<random>.<token>`. Every user may publish to inboxes, a user can subscribe to its own ones
only, and the random part cannot be guessed. So replies, chunks of bodies and flow-control credit
(`broker/requests/body.py`) travel there.

Which broker user may use which subject is defined in `broker/subject_rights.py`.
"""

import hashlib
import re

from msgspec import Struct

_USER = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^\s*>]+")


class Subject(Struct, frozen=True):
    """A subject to publish on; for requests also the pool that serves it. An event belongs to no pool.

    Raises: ValueError for a name with blanks or wildcards in it.
    """

    name: str
    pool: str = ""

    def __post_init__(self) -> None:
        if not _PLAIN.fullmatch(self.name) or ".." in f".{self.name}.":
            raise ValueError(f"{self.name!r} is not a subject")


REST = Subject("rest.request", "rest")
GRAPHQL = Subject("graphql.request", "graphql")
AUTH = Subject("auth.request", "auth")
STORAGE = Subject("storage.request", "storage")
IMAGES = Subject("images.request", "images")
FUNCTIONS = Subject("functions.request", "functions")
REALTIME = Subject("realtime.request", "realtime")
MANAGEMENT = Subject("management.request", "management")
SYNC = Subject("sync.request", "sync")

REQUESTS = (REST, GRAPHQL, AUTH, STORAGE, IMAGES, FUNCTIONS, REALTIME, MANAGEMENT, SYNC)
"""Subjects served as `Request` -> `Response` (schemas/http.py)."""
POOL_TO_POOL = (IMAGES, FUNCTIONS, AUTH, STORAGE, SYNC)
"""Pools that other pools send requests to: storage to images, the scheduler to functions, operations of administrators to the last
four."""

EDGE_SETTINGS = Subject("edge_settings.request", "edge_settings")
"""Served by every process of workers with a database: schemas.edge_settings.EdgeSettings as JSON, for edges, which have none."""
AUTH_SETTINGS = Subject("auth_settings.request", "auth_settings")
"""Served by the pool `auth` for operations of administrators alone: checks of changed settings, previews of emails, test emails."""

ARCHIVE_PLAN = Subject("archive.plan", "archive")
"""Served by the process `archive` for operations of administrators alone: schemas.recovery.PlanTask -> PlanAnswer, as JSON."""

READS_REPEAT = frozenset({"rest", "graphql", "storage"})
"""Pools in which GET and HEAD change nothing, so that a request whose reply was lost can be sent again."""

KEYED_WRITES_REPEAT = frozenset({"rest", "graphql"})
"""Pools in which a write that carries `IDEMPOTENCY_KEY` is carried out once, even when it is sent again (workers/idempotency)."""
IDEMPOTENCY_KEY = "idempotency-key"
IDEMPOTENCY_REPLAYED = "idempotency-replayed"
"""Header of a stored response that is sent again."""

CATALOG_CHANGED = Subject("events.catalog")
"""schemas.events.CatalogChanged"""
CONFIG_CHANGED = Subject("events.config")
"""schemas.events.ConfigChanged"""
SETTINGS_CHANGED = Subject("events.settings")
"""schemas.events.SettingsChanged"""
KEYS_CHANGED = Subject("events.keys")
"""schemas.events.KeysChanged"""
FUNCTIONS_CHANGED = Subject("events.functions")
"""schemas.events.FunctionsChanged"""
SHAPES_CHANGED = Subject("events.shapes")
"""schemas.sync.ShapesChanged: from the pool sync to every edge, at most once and not stored."""
OBJECTS_CHANGED = Subject("events.objects")
"""schemas.storage_events.ObjectsChanged: from the pool storage to every edge, at most once and not stored."""
POSITIONS = Subject("events.positions")
"""schemas.positions.CallerPosition: of a write by REST, GraphQL, auth or storage, to every edge; only with read replicas"""
FAULTS = Subject("events.faults")
"""schemas.faults.FaultReport"""
FUNCTIONS_WAKE = Subject("health.functions.wanted")
"""For a functions worker that waits for the first function (workers/functions/placeholder.py): a message without a reply
subject wakes it, one with a reply subject is answered by an empty message."""

EMAILS_STREAM = "EMAILS"
EMAILS = Subject("mail.emails")
"""schemas.events.QueuedEmail, stored in the stream EMAILS until a mail server has accepted it."""
FORMER_EMAILS_STREAM = "LETTERS"
FORMER_EMAILS = Subject("mail.letters")
"""The stream of versions before 2026-12, which dropped the oldest email beyond its limit; it is only emptied."""

GAPS = Subject("gaps.changes")
"""schemas.changes.Gap"""
CHANGES_STREAM = "CHANGES"
"""Name of the stream that stores row changes, broadcast messages and gaps for a limited time (schemas/changes.py)."""
CHANGES_SUBJECTS = ("changes.>", "messages.>", "gaps.>")
"""Subjects of that stream."""
EDGES = Subject("edges.realtime")
"""Heartbeats of the realtime edges: the entries of an edge without them are dropped (services/realtime)."""
CLIENT_POSITIONS = Subject("positions.realtime")
"""schemas.realtime.ClientPositions: from the realtime edges to every member of the pool realtime, not stored."""

STORAGE_EVENTS_STREAM = "STORAGE_EVENTS"
STORAGE_EVENTS = "events.storage.>"
"""schemas.storage_events.StorageEvent, as JSON, each on `storage_event(bucket, kind)`; stored in the stream STORAGE_EVENTS."""

FUNCTION_LOGS = "FUNCTION_LOGS"
"""Name of the stream that stores the log lines of functions for a limited time."""
FUNCTION_LOGS_SUBJECTS = "logs.functions.>"
"""schemas.functions.log_events.LogLine, each on `function_log(name)`"""

LOGS_STREAM = "LOGS"
"""Name of the stream that holds log lines until every store has them."""
LOGS_SUBJECTS = "logs.lines.>"
"""schemas.logs.LogBatch, compressed, each on `log_lines(user)`"""

CERTIFICATES_BUCKET = "CERTIFICATES"
"""Key-value bucket in which edges share the gateway's certificate, sealed (services/certificates)."""
CERTIFICATES_STREAM = f"KV_{CERTIFICATES_BUCKET}"
"""The stream of that bucket. Source: ADR-8 of NATS, "JetStream based Key-Value Stores"."""
CERTIFICATES_SUBJECTS = f"$KV.{CERTIFICATES_BUCKET}.>"
CERTIFICATE_REPORT_KEY, CERTIFICATE_RENEWAL_KEY = "report", "renewal"
"""Its two entries that are not sealed: schemas.certificate_status.CertificateReport by an edge, RenewalRequest by the pool `management`."""
CERTIFICATE_REPORT_READING = (
    f"$JS.API.DIRECT.GET.{CERTIFICATES_STREAM}.$KV.{CERTIFICATES_BUCKET}.{CERTIFICATE_REPORT_KEY}"
)
"""Answered with the last report. Source: NATS documentation, "JetStream wire API", direct get of the last message of a subject."""
CERTIFICATE_RENEWAL_SUBJECT = f"$KV.{CERTIFICATES_BUCKET}.{CERTIFICATE_RENEWAL_KEY}"
"""Stored by the bucket's stream, which acknowledges it."""

METRICS_COLLECT = "metrics.collect"
"""Every process answers with its metrics (broker/observability/metrics.py)."""
ALIVE = "alive.>"
"""Announcements of all members of all pools."""


def health(pool: str) -> Subject:
    """Return the subject of a pool's health check; a queue group of its own, so that load does not delay it."""
    return Subject(f"health.{pool}", f"health.{pool}")


def cancel(pool: str) -> str:
    """Return the subject on which a pool receives cancelled requests."""
    return f"cancel.{pool}"


def probe(pool: str) -> str:
    """Return the subject of a pool's roll call."""
    return f"probe.{pool}"


def alive(pool: str) -> str:
    """Return the subject on which a member announces that it joins or leaves its pool."""
    return f"alive.{pool}"


def member(name: str) -> str:
    """Return the subject that one member subscribes to as long as its process is connected."""
    return f"member.{name}"


def token(name: str) -> str:
    """Return a name as one part of a subject: characters A-Z, a-z, 0-9, `_` and `-` unchanged, other bytes as `=XX`. Reversible."""
    return "".join(
        char if char.isascii() and (char.isalnum() or char in "_-") else "".join(f"={b:02X}" for b in char.encode())
        for char in name
    ) or "="  # fmt: skip


def canary(stream: str) -> Subject:
    """Return the subject of the messages that show whether a stream stores (broker/jetstream/stream_watch.py). No consumer reads them."""
    return Subject(f"events.canary.{stream}")


def changes(schema: str, table: str) -> Subject:
    """Return the subject of row changes of one table (schemas.changes.ChangeBatch)."""
    return Subject(f"changes.{token(schema)}.{token(table)}")


def storage_event(bucket: str, kind: str) -> Subject:
    """Return the subject of one kind of events about a bucket and its objects (schemas.storage_events.StorageEvent)."""
    return Subject(f"events.storage.{token(bucket)}.{kind}")


def function_log(name: str) -> Subject:
    """Return the subject of a function's output and of the events of its processes (schemas.functions.log_events.LogLine)."""
    return Subject(f"logs.functions.{token(name)}")


def log_lines(user: str) -> Subject:
    """Return the subject of log lines of processes with this broker user; a user may publish on its own one alone."""
    return Subject(f"logs.lines.{token(user)}")


def messages(topic: str, *, is_private: bool) -> Subject:
    """Return the subject of messages to a topic that were stored in the database (schemas.changes.StoredBroadcast)."""
    return Subject(f"messages.{_topic_parts(topic, is_private)}")


def broadcasts(topic: str, *, is_private: bool) -> Subject:
    """Return the subject of broadcasts to a topic from clients, which are not stored (services/realtime/topics/messages.py)."""
    return Subject(f"rooms.{_topic_parts(topic, is_private)}")


def presence(topic: str, *, is_private: bool) -> Subject:
    """Return the subject on which edges exchange the presence of a topic (services/realtime/topics/presence.py)."""
    return Subject(f"presence.{_topic_parts(topic, is_private)}")


def _topic_parts(topic: str, is_private: bool) -> str:
    """Return the parts for a topic: topics have any length and any characters, so they are hashed."""
    return f"{'prv' if is_private else 'pub'}.{hashlib.sha256(topic.encode()).hexdigest()[:32]}"


def inbox(user: str, random: str) -> str:
    """Return the prefix of a process's inbox. A user name that cannot be part of a subject is replaced by `open`."""
    return f"_INBOX.{user if _USER.fullmatch(user) else 'open'}.{random}."


def is_inbox(name: str) -> bool:
    """Return whether a subject named by a peer is an inbox; it must not be a command or contain a wildcard."""
    return name.startswith("_INBOX.") and _PLAIN.fullmatch(name) is not None
