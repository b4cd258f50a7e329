"""Parse trees of SQL as JSON (libpg_query's form), and SQL from such trees; a program for a process of its own.

    python -m workers.management.spellings.schema_metadata.parse_tree parse|deparse

The input is read from stdin, the result is written to stdout; with exit code 3 it is the message of an error. The library is C code
that a very deep or a malformed tree crashes, so the pool never loads it (parse_process.py).

The grammar is that of PostgreSQL 18. Trees have the form that the interface's have, which is that of 17: RETURNING is the list
`returningList`, and what 18 added to lists and conditions (`is_enforced`, places) is left out. What only 18 has (`returning old.*`) stays.
A statement of 17 begins right behind the semicolon before it, one of 18 behind the blanks and comments that follow.
"""

import re
import resource
import sys
from typing import Any

import msgspec
import postgast
from google.protobuf import json_format
from google.protobuf.message import Error as MessageError
from postgast.errors import PgQueryError, check_error
from postgast.native import lib
from postgast.pg_query_pb2 import ParseResult

from workers.management.spellings.schema_metadata.errors import MetadataError, bad_request
from workers.management.spellings.schema_metadata.parse_process import REJECTED

_MAX_CPU_S = 10
_MAX_MEMORY = 2 * 1024**3
_DEEPEST = 400
_ADDED = frozenset({"is_enforced", "list_start", "list_end", "rexpr_list_start", "rexpr_list_end"})
_TEXTS = frozenset({"String", "sval"})
_VERSION_OF_17 = 170004
_BETWEEN = re.compile(rb"--[^\n]*|/\*|\*/|;", re.DOTALL)
"""What counts between two statements: comments and semicolons."""


def parse(text: str) -> bytes:
    """Return the tree of SQL as JSON. Raises: MetadataError."""
    try:
        tree = _as_17(msgspec.json.decode(_parsed(text)))
        tree |= {"version": _VERSION_OF_17, "stmts": _places_of_17(tree.get("stmts", []), text.encode())}
        return msgspec.json.encode(tree)
    except (PgQueryError, UnicodeError, msgspec.DecodeError) as error:
        raise bad_request(str(error)) from None
    except RecursionError:
        raise bad_request("query is nested too deeply") from None


def _parsed(text: str) -> bytes:
    """Return the tree as the library writes it. Its own `parse` builds protobuf messages, which are at most 100 deep.

    Raises: PgQueryError.
    """
    result = lib.pg_query_parse(text.encode())
    try:
        check_error(result)
        return bytes(result.parse_tree)
    finally:
        lib.pg_query_free_parse_result(result)


def deparse(tree: Any) -> str:
    """Return the SQL of a tree. Raises: MetadataError."""
    if not isinstance(tree, dict):
        raise bad_request("ast must be a parse tree: an object with `version` and `stmts`")
    try:
        message = json_format.ParseDict(_as_18(tree), ParseResult(), max_recursion_depth=_DEEPEST)
        return str(postgast.deparse(message))
    except (json_format.ParseError, MessageError, PgQueryError, ValueError, RecursionError) as error:
        raise bad_request(f"ast is not a parse tree: {error}") from None


def _as_17(tree: Any) -> Any:
    """Return a tree of 18 with the members of 17."""
    if isinstance(tree, list):
        return [_as_17(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    members = {name: _as_17(value) for name, value in tree.items() if name not in _ADDED}
    for name in _TEXTS & members.keys():
        if members[name] == {}:  # the empty text
            members[name] = {"sval": ""}
    if members.get("contype") == "CONSTR_NOTNULL":
        members.pop("initially_valid", None)
    if (clause := members.get("returningClause")) is not None and "options" not in clause:
        del members["returningClause"]
        members["returningList"] = clause.get("exprs", [])
    return members


def _places_of_17(statements: list[dict[str, Any]], text: bytes) -> list[dict[str, Any]]:
    """Return the statements with the places of 17; a place at 0 is left out. They count in bytes."""
    moved: list[dict[str, Any]] = []
    end = 0
    for statement in statements:
        place, length = statement.get("stmt_location", 0), statement.get("stmt_len", 0)
        start = _behind_semicolon(text[end:place], end if moved else 0, end)
        members = {"stmt": statement["stmt"]}
        if start:
            members["stmt_location"] = start
        if length:
            members["stmt_len"] = length + place - start
        moved.append(members)
        end = place + length
    return moved


def _behind_semicolon(between: bytes, otherwise: int, offset: int) -> int:
    """Return the place behind the last semicolon that is in no comment; `otherwise` without one. Comments nest."""
    depth, place = 0, otherwise
    for match in _BETWEEN.finditer(between):
        if match[0] == b"/*":
            depth += 1
        elif match[0] == b"*/":
            depth -= 1
        elif match[0] == b";" and not depth:
            place = offset + match.end()
    return place


def _as_18(tree: Any) -> Any:
    """Return a tree of 17 with the members of 18: every condition is enforced."""
    if isinstance(tree, list):
        return [_as_18(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    members = {name: _as_18(value) for name, value in tree.items()}
    if "returningList" in members:
        members["returningClause"] = {"exprs": members.pop("returningList")}
    if "contype" in members:
        members.setdefault("is_enforced", True)
    if members.get("contype") == "CONSTR_NOTNULL":
        members.setdefault("initially_valid", True)
    return members


def main() -> None:
    """Answer one request of `parse_process.py`."""
    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_S, _MAX_CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = sys.stdin.buffer.read()
    try:
        if sys.argv[1] == "parse":
            output = parse(data.decode())
        else:
            output = deparse(msgspec.json.decode(data)).encode(errors="replace")
    except MetadataError as error:
        sys.stdout.buffer.write(str(error).encode(errors="replace"))
        sys.exit(REJECTED)
    sys.stdout.buffer.write(output)


if __name__ == "__main__":
    main()
