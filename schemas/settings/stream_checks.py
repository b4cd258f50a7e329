"""Checks of `[streams.<name>]` that need neither the database nor a name server (pure)."""

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from schemas.settings.streams import MODES, StreamSettings
from schemas.stream_server import RESERVED_GIB

SASL = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
TARGETS = {
    "file": "file:///srv/lake",
    "s3": "s3://bucket/prefix",
    "nats": "nats: (the platform's own server)",
    "kafka": "kafka://host:9092",
    "kafkas": "kafkas://user:password@host:9093",
    "postgresql": "postgresql://user:password@host:5432/database",
    "postgres": "postgres://user:password@host:5432/database",
}
"""Scheme of a target -> an example."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_NO_FOLDER = re.compile(r"[/\\?#%\x00-\x1f\x7f]")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_GIB = 1024**3
_MOST_STREAMS, _MOST_TABLES, _LONGEST_EVERY_S = 16, 100, 3600.0


def stream_fault(streams: Mapping[str, StreamSettings], *, has_changes: bool) -> str | None:
    """Return why streams cannot work, with the key in braces, or None. `has_changes`: `realtime.enabled`."""
    if len(streams) > _MOST_STREAMS:
        return f"{{streams}} may have {_MOST_STREAMS} entries at most"
    for name, stream in streams.items():
        if stream.enabled and (fault := _fault(name, stream, has_changes=has_changes)):
            return f"{{streams.{name}}}: {fault}"
    reserved = sum(
        streams[name].keep_size * len(streams[name].tables) for name in streams_on_own_server(streams)
    )
    if reserved > RESERVED_GIB * _GIB:
        return (
            f"{{streams}}: tables with the target nats: may keep {RESERVED_GIB} GiB together, and keep_size of each makes "
            f"{reserved / _GIB:.0f} GiB: set a smaller keep_size"
        )
    return None


def table_name(text: str) -> tuple[str, str]:
    """Return schema and name of a table as settings write it."""
    schema, dot, name = text.partition(".")
    return (schema, name) if dot else ("public", schema)


def split_target(stream: StreamSettings) -> SplitResult:
    """Return the parts of the target. Raises: ValueError for a text that is no URL."""
    return urlsplit(stream.target.reveal() if stream.target else "")


def streams_on_own_server(streams: Mapping[str, StreamSettings]) -> list[str]:
    """Return the names of streams whose consumers connect to a NATS server that the platform runs."""
    return [
        name
        for name, stream in streams.items()
        if stream.enabled and split_target(stream).scheme == "nats" and not split_target(stream).hostname
    ]


def _fault(name: str, stream: StreamSettings, *, has_changes: bool) -> str | None:
    if not _NAME.fullmatch(name):
        return "its name must have 1 to 63 letters, digits, _ and -"
    if not has_changes:
        return "changes are read from the log by realtime: realtime.enabled must be true"
    return _table_fault(stream) or _target_fault(name, stream)


def _table_fault(stream: StreamSettings) -> str | None:
    if not 0 < len(stream.tables) <= _MOST_TABLES:
        return f"tables must name 1 to {_MOST_TABLES} tables"
    names = [table_name(text) for text in stream.tables]
    if any(not schema or not table for schema, table in names):
        return "tables must have the form orders or sales.orders"
    if len(set(names)) < len(names):
        return "tables names a table twice"
    for key, tables in (
        ("filters", stream.filters),
        ("columns", stream.columns),
        ("without", stream.without),
    ):
        if unknown := [text for text in tables if table_name(text) not in names]:
            return f"{key} has the table {unknown[0]!r}, which is not among tables"
    if any(not columns for columns in stream.columns.values()):
        return "columns must name at least one column of each table"
    if both := [text for text in stream.columns if text in stream.without]:
        return f"of the table {both[0]!r} name either columns or without, not both"
    if stream.mode not in MODES:
        return f"mode must be one of {', '.join(MODES)}"
    if stream.every > _LONGEST_EVERY_S:
        return "every must be an hour at most"
    return None


def _target_fault(name: str, stream: StreamSettings) -> str | None:
    """Return what is wrong with the target. Its text is not shown: it may contain a password."""
    try:
        parts = split_target(stream)
        is_valid = parts.scheme in TARGETS and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        return f"target must be a URL such as {', '.join(list(TARGETS.values())[:-1])}"
    text = stream.target.reveal() if stream.target else ""
    if parts.scheme in ("file", "s3") and ("?" in text or "#" in text):
        return "target must be a folder or a prefix without ? and #"
    if _is_closed(urlsplit(stream.endpoint) if parts.scheme == "s3" else parts) and not stream.closed_network:
        return "the target is at a private address, which closed_network = true would allow"
    match parts.scheme:
        case "file":
            if (
                parts.netloc
                or not parts.path.startswith("/")
                or parts.path == "/"
                or ".." in parts.path.split("/")
            ):
                return "target must be an absolute folder, as in file:///srv/lake"
        case "nats":
            if parts.path not in ("", "/") or parts.query:
                return "target must be nats: for the platform's own server, or nats://user:password@host:4222"
        case "kafka" | "kafkas":
            if not parts.hostname or parts.path not in ("", "/") or parts.query:
                return "target must name a server of Kafka, as in kafka://host:9092"
            if stream.sasl not in SASL:
                return f"sasl must be one of {', '.join(SASL)}"
        case "postgresql" | "postgres":
            if not parts.hostname or not parts.username or not parts.path.strip("/"):
                return "target must name a server, a user and a database, as in postgresql://user:password@host:5432/database"
        case "s3":
            return _s3_fault(stream, parts) or _place_fault(name, stream, parts.scheme)
    return _place_fault(name, stream, parts.scheme)


def _place_fault(name: str, stream: StreamSettings, scheme: str) -> str | None:
    """Return which tables would have no place of their own in the target."""
    names = [table_name(text) for text in stream.tables]
    if scheme in ("file", "s3"):
        for schema, table in names:
            if any(part in (".", "..") or _NO_FOLDER.search(part) for part in (schema, table)):
                return (
                    f"the table {table!r} cannot be a folder: its name has / \\ ? # % or a control character"
                )
    if scheme in ("kafka", "kafkas"):
        for schema, table in names:
            if not _TOPIC.fullmatch(topic := f"{name}.{schema}.{table}"):
                return f"{topic!r} cannot be a topic of Kafka: its name has at most 249 letters, digits, . _ and -"
    if scheme == "nats" and len({f"{schema}-{table}" for schema, table in names}) < len(names):
        return "two of the tables would have the same stream, as a-b.c and a.b-c"
    return None


def _s3_fault(stream: StreamSettings, parts: SplitResult) -> str | None:
    if not parts.hostname or parts.username or parts.port or parts.query:
        return "target must name a bucket, as in s3://bucket/prefix"
    if not stream.access_key_id or not stream.secret_access_key:
        return 'a target on S3 needs access_key_id and secret_access_key, as in "env(LAKE_SECRET)"'
    if stream.endpoint and urlsplit(stream.endpoint).scheme not in ("http", "https"):
        return "endpoint must be a URL such as https://storage.example.com"
    return None


def _is_closed(parts: SplitResult) -> bool:
    """Return whether a host is closed by its name; where others are is known once they are looked up."""
    host = (parts.hostname or "").rstrip(".")
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
