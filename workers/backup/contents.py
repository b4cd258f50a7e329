"""What a dump has, by its list (pure): which entries are the platform's, and which are restored as what.

The list of `pg_restore --list` has one line an entry:

    216; 1259 16397 TABLE public notes postgres
    id;  catalog and oid, kind, schema, name, owner

A backup is a file that a project can have had a hand in, so nothing of it runs as a superuser, and it makes nothing that the
platform makes: what a database with the platform's schemas alone has already is left out, and comes from us.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

_KINDS = (
    "ACCESS METHOD", "BLOB COMMENTS", "BLOB METADATA", "CHECK CONSTRAINT", "DATABASE PROPERTIES", "DEFAULT ACL", "EVENT TRIGGER",
    "FK CONSTRAINT", "FOREIGN DATA WRAPPER", "FOREIGN TABLE", "INDEX ATTACH", "LARGE OBJECT", "MATERIALIZED VIEW DATA",
    "MATERIALIZED VIEW", "OPERATOR CLASS", "OPERATOR FAMILY", "PROCEDURAL LANGUAGE", "PUBLICATION TABLES IN SCHEMA",
    "PUBLICATION TABLE", "ROW SECURITY", "SECURITY LABEL", "SEQUENCE OWNED BY", "SEQUENCE SET", "SHELL TYPE",
    "STATISTICS DATA", "SUBSCRIPTION TABLE", "TABLE ATTACH", "TABLE DATA", "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY", "TEXT SEARCH PARSER", "TEXT SEARCH TEMPLATE", "USER MAPPING",
)  # fmt: skip
_LINE = re.compile(rf"(?P<id>\d+); \d+ \d+ (?P<kind>{'|'.join(_KINDS)}|[A-Z]+) (?P<rest>.*)")
_LEFT_OUT = (
    "DATABASE",
    "DATABASE PROPERTIES",
    "ENCODING",
    "EXTENSION",
    "SEARCHPATH",
    "STATISTICS DATA",
    "STDSTRINGS",
)
_LAST = re.compile(r"(EVENT TRIGGER|PUBLICATION)\b")
RIGHTS = ("ACL", "DEFAULT ACL")
_OURS_ALONE = ("headwater", "net")
"""Schemas whose rows say how this platform stands, not the one that was saved."""
_PARTITION = re.compile(r"realtime messages_\d")
JOBS = ("cron job", "cron job_run_details")
"""Tables of the superuser's whose rows are the project's. A dump that defines such a table has one of the project's own: what an
extension makes is in no dump."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list."""

    line: str
    kind: str
    place: str
    """Schema and name, as the list spells them: `public notes`, `- plpgsql`."""
    owner: str

    @property
    def schema(self) -> str:
        """The first word of the place."""
        return self.place.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Parts:
    """A dump, parted by how it is restored."""

    schemas: list[Entry]
    main: list[Entry]
    """As role postgres: the project's definitions, rows and rights."""
    last: list[Entry]
    """Event triggers and publications."""
    jobs: list[Entry]
    rights: list[Entry]
    """On what is the platform's or a superuser's: extensions give their own by themselves."""
    emptied: list[str]
    """The platform's tables whose rows the dump has."""


def read_entries(listed: str) -> list[Entry]:
    """Read the list of a dump; lines of another form are comments."""
    found = []
    for line in listed.splitlines():
        if match := _LINE.fullmatch(line):
            place, _, owner = match["rest"].rpartition(" ")
            found.append(Entry(line, match["kind"], place, owner))
    return found


def parted(entries: Iterable[Entry], platform: Iterable[Entry], superusers: Container[str]) -> Parts:
    """Part the entries of a dump; `platform` are those of a database with the platform's schemas alone."""
    entries = list(entries)
    ours = {(entry.kind, entry.place) for entry in platform}
    spaced = {entry.place[2:] for entry in entries if entry.kind == "SCHEMA" and " " in entry.place[2:]}
    own_tables = {entry.place for entry in entries if entry.kind == "TABLE"}
    parts = Parts([], [], [], [], [], [])
    for entry in entries:
        about = entry.place.partition(" ")[2] if entry.kind in ("COMMENT", "SECURITY LABEL", "ACL") else ""
        if (entry.kind, entry.place) in ours:
            if entry.kind in RIGHTS and entry.schema not in _OURS_ALONE:
                parts.rights.append(entry)
            continue
        if entry.kind in _LEFT_OUT or about.startswith(("EXTENSION ", "DATABASE ")):
            continue
        if (entry.schema in _OURS_ALONE and not _is_in(entry, spaced)) or _PARTITION.match(entry.place):
            continue
        if entry.kind in RIGHTS and entry.owner in superusers:
            parts.rights.append(entry)
        elif _LAST.match(entry.kind) or _LAST.match(about):
            parts.last.append(entry)
        elif entry.kind == "SCHEMA":
            parts.schemas.append(entry)
        elif entry.kind == "TABLE DATA" and entry.place in JOBS and entry.place not in own_tables:
            parts.jobs.append(entry)
        else:
            if entry.kind == "TABLE DATA" and ("TABLE", entry.place) in ours:
                parts.emptied.append(entry.place)
            parts.main.append(entry)
    return parts


def _is_in(entry: Entry, schemas: Iterable[str]) -> bool:
    """Return whether an entry is one of these schemas, or of what is in them (pure).

    The list quotes nothing: in `net worth items` the schema may be `net` or `net worth`. Schemas of the platform hold nothing of a
    project's, so a schema of the backup whose name has a blank is meant.
    """
    return any(
        entry.place in (f"- {name}", f"SCHEMA {name}") or entry.place.startswith(f"{name} ")
        for name in schemas
    )


def listed(entries: Iterable[Entry]) -> str:
    """Write a list that pg_restore reads."""
    return "".join(f"{entry.line}\n" for entry in entries)
