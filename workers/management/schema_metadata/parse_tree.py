"""Parse trees of SQL as JSON (libpg_query's form), and SQL from such trees. Pure.

The grammar is that of PostgreSQL 18; the interface's is that of 17, whose trees have the same members.
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


def parse(text: str) -> bytes:
    """Return the tree of SQL as JSON. Raises: MetadataError."""
    if len(text.encode(errors="replace")) > MAX_SQL_BYTES:
        raise bad_request(f"query is longer than {MAX_SQL_BYTES} bytes")
    try:
        tree = postgast.parse(text)
    except (PgQueryError, UnicodeError) as error:
        raise bad_request(str(error)) from None
    try:
        return msgspec.json.encode(json_format.MessageToDict(tree))
    except RecursionError:
        raise bad_request("query is nested too deeply") from None


def deparse(tree: Any) -> str:
    """Return the SQL of a tree. Raises: MetadataError."""
    if not isinstance(tree, dict):
        raise bad_request("ast must be a parse tree: an object with `version` and `stmts`")
    try:
        message = json_format.ParseDict(tree, ParseResult(), max_recursion_depth=_DEEPEST)
        return str(postgast.deparse(message))
    except (json_format.ParseError, PgQueryError, ValueError, RecursionError) as error:
        raise bad_request(f"ast is not a parse tree: {error}") from None
