"""Parse trees of SQL as JSON (libpg_query's form), and SQL from such trees. Pure.

The grammar is that of PostgreSQL 18. Trees have the form that the interface's have, which is that of 17: RETURNING is the list
`returningList`, and what 18 added to lists and conditions (`is_enforced`, places) is left out. What only 18 has (`returning old.*`) stays.
"""

from typing import Any

import msgspec
import postgast
from google.protobuf import json_format
from postgast.errors import PgQueryError
from postgast.pg_query_pb2 import ParseResult

from workers.management.schema_metadata.errors import bad_request

MAX_SQL_BYTES = 256 * 1024
"""Longest SQL that is parsed: a tree is some fifty times as long."""
_DEEPEST = 400
_ADDED = frozenset({"is_enforced", "list_start", "list_end", "rexpr_list_start", "rexpr_list_end"})
_TEXTS = frozenset({"String", "sval"})


def parse(text: str) -> bytes:
    """Return the tree of SQL as JSON. Raises: MetadataError."""
    if len(text.encode(errors="replace")) > MAX_SQL_BYTES:
        raise bad_request(f"query is longer than {MAX_SQL_BYTES} bytes")
    try:
        tree = postgast.parse(text)
    except (PgQueryError, UnicodeError) as error:
        raise bad_request(str(error)) from None
    try:
        return msgspec.json.encode(_as_17(json_format.MessageToDict(tree)))
    except RecursionError:
        raise bad_request("query is nested too deeply") from None


def deparse(tree: Any) -> str:
    """Return the SQL of a tree. Raises: MetadataError."""
    if not isinstance(tree, dict):
        raise bad_request("ast must be a parse tree: an object with `version` and `stmts`")
    try:
        message = json_format.ParseDict(_as_18(tree), ParseResult(), max_recursion_depth=_DEEPEST)
        return str(postgast.deparse(message))
    except (json_format.ParseError, PgQueryError, ValueError, RecursionError) as error:
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
