"""Extensions that the embedded server cannot have: files that let their names pass, or that refuse with what to do.

In goes the table `schemas/extensions/absent.toml`, out come control and script files.
"""

import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources

import msgspec

_CALLERS = "superuser = false"
"""What is made belongs to who makes it, and so may be moved."""
_ONLY_THE_SERVERS = "set local search_path = pg_catalog, pg_temp;\n"
"""Names are looked up in pg_catalog alone from here to the end of the script."""


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An extension of which there is the name only."""

    version: str
    reason: str
    advice: str
    schema: str = ""
    functions: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An extension that cannot be created."""

    reason: str
    advice: str = ""


class Absent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table; `outside` is the advice where there is none better."""

    outside: str
    named: Mapping[str, Named]
    refused: Mapping[str, Refused]


def read_absent() -> Absent:
    """Read the table."""
    text = resources.files("schemas").joinpath("extensions", "absent.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Absent)


def absent_files(absent: Absent) -> Iterator[tuple[str, str]]:
    """Give name and text of every file (pure)."""
    for name, named in absent.named.items():
        # A schema of the platform's is not the caller's to make functions in.
        placed = (
            f"schema = {named.schema}\nrelocatable = false\ntrusted = true"
            if named.schema
            else f"relocatable = true\n{_CALLERS}"
        )
        yield _control(name, f"a name only: {named.reason}", named.version, placed)
        yield f"{name}--{named.version}.sql", _named_script(name, named)
    for name, refused in absent.refused.items():
        yield _control(name, f"not available: {refused.reason}", "0", _CALLERS)
        yield f"{name}--0.sql", _refused_script(name, refused.reason, refused.advice or absent.outside)


def _control(name: str, comment: str, version: str, placed: str) -> tuple[str, str]:
    lines = f"comment = {_quoted(comment)}", f"default_version = '{version}'", placed
    return f"{name}.control", "\n".join([*lines, ""])


def _named_script(name: str, named: Named) -> str:
    said = f"extension {name} is a name only here: {named.reason}"
    # With a schema of its own the script runs as the superuser: nothing may be looked up in the schema, which the caller
    # may own. Without one it runs as the caller, and what it makes can be moved.
    path, place = (_ONLY_THE_SERVERS, "@extschema@.") if named.schema else ("", "")
    functions = "\n".join(
        f"create function {place}{function} returns void language plpgsql\n"
        "set search_path = pg_catalog, pg_temp as $headwater$ begin\n"
        f"  {_raise('exception', said, named.advice)}\n"
        "end $headwater$;"
        for function in named.functions
    )
    # The server keeps notices of scripts from the client; this one is for it.
    return (
        f"{path}do $headwater$ begin\n"
        "  perform pg_catalog.set_config('client_min_messages', 'notice', true);\n"
        f"  {_raise('notice', said, named.advice)}\n"
        f"end $headwater$;\n{functions}\n"
    )


def _refused_script(name: str, reason: str, advice: str) -> str:
    said = f"extension {name} is not available here: {reason}"
    return f"do $headwater$ begin\n  {_raise('exception', said, advice)}\nend $headwater$;\n"


def _raise(level: str, message: str, hint: str) -> str:
    code = ", errcode = 'feature_not_supported'" if level == "exception" else ""
    return f"raise {level} using message = {_quoted(message)}, hint = {_quoted(hint)}{code};"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
