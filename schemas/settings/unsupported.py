"""Keys of the official `config.toml` that this platform does not support (pure): the reason, and an alternative.

Existing projects have such keys, so they cause a warning at the start, never an error: one line a section, and only where the file
really requests something. A section that is switched off requests nothing, nor does a key with the value that `supabase init`
writes, or with the behaviour of this platform.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_NOTHING = ("", None, False, "false")
"""Values that request nothing, whatever the key."""


class NotHonouredWarning(str):
    """A warning about a section of a file; `short` names only what is not honoured, for one line about all of them."""

    short: str
    source: str

    def __new__(cls, text: str, short: str, source: str) -> "NotHonouredWarning":
        """Create the warning."""
        warning = super().__new__(cls, text)
        warning.short, warning.source = short, source
        return warning


@dataclass(frozen=True, slots=True)
class UnsupportedKey:
    """A section or a key that is not supported."""

    why: str
    instead: str
    usual: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    """Values by key that request nothing; for a key, under its own name."""


UNSUPPORTED_SECTIONS: dict[str, UnsupportedKey] = {
    "studio": UnsupportedKey(
        "the dashboard has no port of its own",
        "open /_/ of the gateway (STUDIO_URL in `headwater status`), or switch it off by dashboard.enabled",
    ),
    "analytics": UnsupportedKey("logs are kept in files, by no service of their own", "read them with `headwater logs`"),
    "experimental": UnsupportedKey(
        "what the official tool tries out is not here; database webhooks need no switch",
        "remove the section",
        {
            "webhooks.enabled": (True, "true"),
            "s3_host": ("env(S3_HOST)",),
            "s3_region": ("env(S3_REGION)",),
            "s3_access_key": ("env(S3_ACCESS_KEY)",),
            "s3_secret_key": ("env(S3_SECRET_KEY)",),
        },
    ),
    "db.network_restrictions": UnsupportedKey(
        "the embedded database listens on this machine only", "remove the section; a firewall guards an outside database"
    ),
    "db.ssl_enforcement": UnsupportedKey(
        "the embedded database listens on this machine only, without TLS",
        "for an outside one write sslmode=require into db.url",
    ),
    "storage.analytics": UnsupportedKey("there are no buckets for tables of Iceberg", "switch it off"),
    "storage.vector": UnsupportedKey("there are no buckets for vectors", "use the extension vector in a table"),
}  # fmt: skip
"""By name; keys below a section belong to it."""

UNSUPPORTED_KEYS: dict[str, UnsupportedKey] = {
    "db.major_version": UnsupportedKey(
        "the embedded server is Postgres 18", "name a server of another version in db.url", {"major_version": (18,)}
    ),
    "db.health_timeout": UnsupportedKey(
        "a start waits for the database as long as it lives", "remove it", {"health_timeout": ("2m", "2m0s", "120s")}
    ),
    "db.root_key": UnsupportedKey("the vault keeps a key of its own", "put yours as a line into vault.key beside the database"),
    "realtime.ip_version": UnsupportedKey(
        "the parts reach each other on this machine by IPv4",
        "set gateway.host to listen on IPv6",
        {"ip_version": ("IPv4",)},
    ),
    "realtime.max_header_length": UnsupportedKey(
        "one limit holds for all interfaces", "set gateway.max_headers", {"max_header_length": (4096,)}
    ),
    "edge_runtime.inspector_port": UnsupportedKey(
        "functions have no inspector", "read what they print: `headwater functions logs`", {"inspector_port": (8083,)}
    ),
    "edge_runtime.deno_version": UnsupportedKey(
        "functions run in Deno 2", "bring what was written for Deno 1 up to it", {"deno_version": (2,)}
    ),
    "inbucket.pop3_port": UnsupportedKey(
        "the mail catcher has no POP3", "read emails at inbucket.port", {"pop3_port": (54326,)}
    ),
}  # fmt: skip
"""Keys of supported sections that work differently."""


def is_unsupported(path: str) -> bool:
    """Return whether a dotted path is listed here, or lies in a section that is."""
    return path in UNSUPPORTED_KEYS or any(
        path == name or path.startswith(f"{name}.") for name in UNSUPPORTED_SECTIONS
    )


def not_honoured(tree: Mapping[str, Any], source: str) -> list[str]:
    """Return a warning for each section of a file that requests something unsupported."""
    lines: list[str] = []
    for name, foreign in UNSUPPORTED_SECTIONS.items():
        if requested := list(_requested(_at(tree, name), foreign)):
            text = f"[{name}] in {source} is not honoured ({', '.join(requested)})"
            reason = f"{text}: {foreign.why}. Instead: {foreign.instead}"
            lines.append(NotHonouredWarning(reason, f"[{name}]", source))
    return [*lines, *_key_warnings(tree, source)]


def in_one_line(warnings: Iterable[str]) -> list[str]:
    """Return warnings with those of sections that are not honoured as one, in the place of the first of them."""
    lines: list[str] = []
    short = [warning for warning in warnings if isinstance(warning, NotHonouredWarning)]
    for warning in warnings:
        if not isinstance(warning, NotHonouredWarning) or len(short) == 1:
            lines.append(warning)
        elif warning is short[0]:
            names = ", ".join(each.short for each in short)
            lines.append(
                f"{warning.source} has what is not honoured: {names}. `headwater start -v` says why, and what to do instead."
            )
    return lines


def _key_warnings(tree: Mapping[str, Any], source: str) -> Iterator[str]:
    """Yield the warnings about single keys, those of one section together."""
    by_section: dict[str, list[str]] = {}
    for path, foreign in UNSUPPORTED_KEYS.items():
        section, _, key = path.rpartition(".")
        value = _at(tree, path)
        if value is not None and not _is_usual(foreign, key, value):
            by_section.setdefault(section, []).append(f"{key}: {foreign.why}. Instead: {foreign.instead}")
    for section, reasons in by_section.items():
        text = f"[{section}] in {source} has keys that are not honoured. {'; '.join(reasons)}"
        keys = ", ".join(f"{section}.{reason.partition(':')[0]}" for reason in reasons)
        yield NotHonouredWarning(text, keys, source)


def _requested(section: Any, foreign: UnsupportedKey, path: str = "") -> Iterator[str]:
    """Yield the keys of a section that request something; none where it is switched off."""
    if not isinstance(section, dict):
        yield from () if section in _NOTHING else [path or "its value"]
        return
    if section.get("enabled") in (False, "false"):
        return
    for key, value in section.items():
        where = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            yield from _requested(value, foreign, where)
        elif not _is_usual(foreign, where, value):
            yield where


def _is_usual(foreign: UnsupportedKey, key: str, value: object) -> bool:
    usual = foreign.usual.get(key, ())
    return value in _NOTHING or value in usual or (isinstance(value, str) and value in map(str, usual))


def _at(tree: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path, or None."""
    node: Any = tree
    for part in path.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    return node
