"""Extensions that the embedded server lacks: files that define only the name, or that raise an error with advice.

Reads the table `schemas/extensions/absent.toml` and makes control and script files from it.
"""

import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources

import msgspec

_CALLERS = "superuser = false"
"""The objects belong to the role that creates the extension, so they may be moved to another schema."""
_ONLY_THE_SERVERS = "set local search_path = pg_catalog, pg_temp;\n"
"""From here to the end of the script, names are looked up in pg_catalog alone."""


class NameOnlyExtension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An extension of which only the name exists here."""

    version: str
    reason: str
    advice: str
    schema: str = ""
    functions: tuple[str, ...] = ()


class RejectedExtension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An extension that cannot be created."""

    reason: str
    advice: str = ""


class AbsentExtensions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table; `outside` is the advice for a rejected extension without its own."""

    outside: str
    named: Mapping[str, NameOnlyExtension]
    refused: Mapping[str, RejectedExtension]


def read_absent() -> AbsentExtensions:
    """Read the table."""
    text = resources.files("schemas").joinpath("extensions", "absent.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), AbsentExtensions)


def absent_files(absent: AbsentExtensions) -> Iterator[tuple[str, str]]:
    """Yield name and text of every file (pure)."""
    for name, extension in absent.named.items():
        # The caller may not create functions in a schema of the platform.
        placed = (
            f"schema = {extension.schema}\nrelocatable = false\ntrusted = true"
            if extension.schema
            else f"relocatable = true\n{_CALLERS}"
        )
        yield _control(name, f"a name only: {extension.reason}", extension.version, placed)
        yield f"{name}--{extension.version}.sql", _named_script(name, extension)
    for name, rejected in absent.refused.items():
        yield _control(name, f"not available: {rejected.reason}", "0", _CALLERS)
        yield f"{name}--0.sql", _refused_script(name, rejected.reason, rejected.advice or absent.outside)


def _control(name: str, comment: str, version: str, placed: str) -> tuple[str, str]:
    lines = f"comment = {_quoted(comment)}", f"default_version = '{version}'", placed
    return f"{name}.control", "\n".join([*lines, ""])


def _named_script(name: str, extension: NameOnlyExtension) -> str:
    message = f"extension {name} is a name only here: {extension.reason}"
    # Danger: with a schema of its own the script runs as the superuser. Nothing may be looked up in the schema, which the caller
    # may own. Without one it runs as the caller, and its objects can be moved.
    path, schema_prefix = (_ONLY_THE_SERVERS, "@extschema@.") if extension.schema else ("", "")
    functions = "\n".join(
        f"create function {schema_prefix}{function} returns void language plpgsql\n"
        "set search_path = pg_catalog, pg_temp as $headwater$ begin\n"
        f"  {_raise('exception', message, extension.advice)}\n"
        "end $headwater$;"
        for function in extension.functions
    )
    # The server hides notices of extension scripts from the client, unless the script itself lowers client_min_messages.
    return (
        f"{path}do $headwater$ begin\n"
        "  perform pg_catalog.set_config('client_min_messages', 'notice', true);\n"
        f"  {_raise('notice', message, extension.advice)}\n"
        f"end $headwater$;\n{functions}\n"
    )


def _refused_script(name: str, reason: str, advice: str) -> str:
    message = f"extension {name} is not available here: {reason}"
    return f"do $headwater$ begin\n  {_raise('exception', message, advice)}\nend $headwater$;\n"


def _raise(level: str, message: str, hint: str) -> str:
    code = ", errcode = 'feature_not_supported'" if level == "exception" else ""
    return f"raise {level} using message = {_quoted(message)}, hint = {_quoted(hint)}{code};"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
