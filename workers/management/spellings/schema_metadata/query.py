"""POST /query and below: SQL of the caller is run, formatted, parsed, or written from its tree."""

import asyncio
import re
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from schemas.database_logins import DEVELOPER
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.spellings.schema_metadata import parse_process
from workers.management.spellings.schema_metadata.errors import MetadataError, bad_request
from workers.management.spellings.schema_metadata.query_session import (
    CopyRejected,
    QueryLimits,
    QueryRejected,
    ResultTooLarge,
    run_query,
)
from workers.management.spellings.schema_metadata.query_values import rows_as_json
from workers.management.spellings.schema_metadata.request import MetadataRequest
from workers.management.spellings.schema_metadata.sql_format import format_sql

MAX_RESULT_BYTES = 32 * 1024 * 1024
MAX_RESULT_ROWS = 200_000
_SECONDS = re.compile(r"\d{1,6}(\.\d{1,3})?", re.ASCII)
_PASSWORD = re.compile(r"(password\s+)(?:[eE]?'(?:[^']|'')*'|\$\$.*?\$\$)", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class QueryRunner:
    """Runs queries in sessions of the login that is a member of role `postgres`."""

    database: ManagementDatabase
    timeout_s: float

    async def run(self, request: MetadataRequest) -> bytes:
        """Run the SQL of a body and return the rows of its last statement that has any, as JSON. Raises: MetadataError."""
        text = query_text(request.body)
        body = cast("dict[str, object]", request.body)
        parameters = body.get("parameters")
        statement_s = self._seconds(request, "statementTimeoutSecs")
        seconds = self._seconds(request, "queryTimeoutSecs") or self.timeout_s
        limits = QueryLimits(MAX_RESULT_BYTES, MAX_RESULT_ROWS, min(seconds, self.timeout_s), statement_s)
        try:
            async with asyncio.timeout(self.timeout_s), self.database.place():
                url = await self.database.session_url(DEVELOPER)
                result = await run_query(
                    url, text, None if parameters is None else _parameters(parameters), limits
                )
        except QueryRejected as error:
            raise _rejected(error.fields, text) from None
        except ResultTooLarge as error:
            raise _too_large(error) from None
        except CopyRejected:
            raise bad_request("COPY from stdin and to stdout have no form here") from None
        except TimeoutError:
            raise MetadataError(408, "Query read timeout", {"message": "Query read timeout"}) from None
        return rows_as_json(result)

    def _seconds(self, request: MetadataRequest, name: str) -> float:
        """Return a time limit that the request names; 0 for none. Raises: MetadataError."""
        text = request.query.get(name, "")
        if text and not _SECONDS.fullmatch(text):
            raise bad_request(f"querystring/{name} must be a number of seconds")
        return float(text or 0)


def query_text(body: object) -> str:
    """Return the SQL of a body. Raises: MetadataError."""
    text = cast("dict[str, object]", body).get("query") if isinstance(body, dict) else None
    if not isinstance(text, str) or not text:
        raise bad_request("query not found")
    if "\0" in text:
        raise bad_request("query must not contain a NUL character")
    return text


async def parsed(request: MetadataRequest) -> bytes:
    """Return the parse tree of SQL as JSON. Raises: MetadataError."""
    return await parse_process.parse(query_text(request.body))


async def deparsed(request: MetadataRequest) -> str:
    """Return the SQL of a parse tree. Raises: MetadataError."""
    body = request.body
    tree = cast("dict[str, object]", body).get("ast") if isinstance(body, dict) else None
    return await parse_process.deparse(tree)


def formatted(request: MetadataRequest) -> str:
    """Return SQL with line breaks and indents. Raises: MetadataError."""
    text = query_text(request.body)
    if len(text) > parse_process.MAX_INPUT_BYTES:
        raise bad_request(f"query is longer than {parse_process.MAX_INPUT_BYTES} characters")
    return format_sql(text)


def audited_text(text: str) -> str:
    """Return SQL without the passwords that it sets, for an audit row."""
    return _PASSWORD.sub(r"\1'(not stored)'", text)


def _parameters(parameters: object) -> list[bytes | None]:
    """Return parameters as Postgres reads them: arrays as arrays, objects as JSON. Raises: MetadataError."""
    if not isinstance(parameters, list):
        raise bad_request("parameters must be an array")
    values = [_parameter(value) for value in cast("list[object]", parameters)]
    if any(value is not None and b"\0" in value for value in values):
        raise bad_request("parameters must not contain a NUL character")
    return values


def _parameter(value: object) -> bytes | None:
    match value:
        case None:
            return None
        case str():
            return value.encode(errors="replace")
        case list():
            return _array(cast("list[object]", value)).encode(errors="replace")
    return msgspec.json.encode(value)


def _array(values: list[object]) -> str:
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: object) -> str:
    if isinstance(value, list):
        return _array(cast("list[object]", value))
    if value is None:
        return "NULL"
    text = (_parameter(value) or b"").decode()
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_MEMBERS = {
    "S": "severity", "C": "code", "D": "detail", "H": "hint", "P": "position", "p": "internalPosition",
    "q": "internalQuery", "W": "where", "s": "schema", "t": "table", "c": "column", "d": "dataType",
    "n": "constraint", "F": "file", "L": "line", "R": "routine",
}  # fmt: skip
"""The members of an error by the codes of the protocol's fields."""


def _rejected(fields: dict[str, str], text: str) -> MetadataError:
    length = 5 + sum(len(value.encode()) + 2 for value in fields.values())
    members: dict[str, Any] = {"length": length, "name": "error"}
    members |= {name: fields[letter] for letter, name in _MEMBERS.items() if letter in fields}
    formatted = formatted_error(fields, text)
    return MetadataError(
        400, formatted, {**members, "message": fields.get("M", ""), "formattedError": formatted}
    )


def formatted_error(fields: dict[str, str], text: str) -> str:
    """Return an error as psql prints it, with the line that it is about."""
    lines = [f"{fields.get('S', 'ERROR')}:  {fields.get('C', 'XX000')}: {fields.get('M', '')}"]
    if position := fields.get("P", ""):
        lines += _marked_line(text, position)
    for letter, word in (("D", "DETAIL"), ("H", "HINT"), ("q", "QUERY"), ("W", "CONTEXT")):
        if letter in fields:
            lines.append(f"{word}:  {fields[letter]}")
    return "\n".join(lines) + "\n"


def _marked_line(text: str, position: str) -> list[str]:
    """Return the line of a position, counted from 1 in characters, and a mark below it."""
    offset = int(position) - 1
    before = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if before + len(line) > offset:
            return [f"LINE {number}: {line}", " " * (7 + len(str(number)) + offset - before) + "^"]
        before += len(line) + 1
    return ["LINE 0: ", " " * 8 + "^"]


def _too_large(error: ResultTooLarge) -> MetadataError:
    noun = "Query result size" if error.unit == "bytes" else "Query result length"
    message = f"{noun} ({error.size} {error.unit}) exceeded the configured limit ({error.most} {error.unit})"
    fields = {"message": message, "code": "RESULT_SIZE_EXCEEDED", "resultSize": error.size}
    return MetadataError(400, message, {**fields, "maxResultSize": error.most})
