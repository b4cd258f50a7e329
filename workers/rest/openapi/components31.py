"""What every operation of the OpenAPI 3.1 document shares: parameters, headers, refusals, security. Pure.

Source: docs/reference/rest.md, sections 6, 7, 11, 12, 19 and 20; docs/rest-additions.md.
"""

import re

from workers.database.schema_cache.catalog import CatalogRelation
from workers.rest.openapi.scope import Object, OpenApiOptions
from workers.rest.openapi.types31 import component_key, reference
from workers.sql.operators import OPERATORS

SHAPING = ("select", "order", "limit", "offset", "and", "or")
"""Parameters that shape rows: of a read, and of a call that returns rows."""
READ = (*SHAPING, "range", "rangeUnit", "preferCount")
"""Parameters of every read, in the order shown."""
RESERVED = frozenset({"select", "columns", "on_conflict", "order", "limit", "offset", "and", "or"})
"""Keys of the query string that name no column."""
ADDED = {"read": ("distinct", "having", "cursor"), "insert": ("nested",), "update": ("key",)}
"""Parameters beyond the standard grammar. A filter on a column of such a name stands in their place."""
ERROR = reference("error.body")

_FILTER = rf"^(not\.)?({'|'.join(OPERATORS)})(\([^()]*\))?\."
_PLAIN_NAME = re.compile(r"[\w$](?:[\w $]*[\w$])?(?:-[\w$](?:[\w $]*[\w$])?)*")
_RETURN = ["return=representation", "return=headers-only", "return=minimal"]
_COUNT = ["count=exact", "count=planned", "count=estimated"]
_ANY_WRITE = [
    "missing=default",
    "missing=null",
    "tx=commit",
    "tx=rollback",
    "handling=strict",
    "handling=lenient",
]
_STATUS = {
    "300": "Several relationships or functions fit; `details` and `hint` say how to choose",
    "400": "The request, or a value in it, is wrong",
    "401": "The token is missing or refused, or anonymous callers lack the privilege",
    "403": "The role lacks the privilege, or a policy refuses the row",
    "404": "There is no such relation, column, function or operator",
    "405": "The method does not fit",
    "406": "None of the media types asked for can be produced, or not exactly one row was found",
    "409": "A unique or foreign key refuses the row",
    "412": "The rows are not as `If-Match` or `If-None-Match` wants them",
    "413": "The body is too long",
    "416": "The rows asked for cannot exist",
    "default": "Any other refusal",
}
_REFUSALS = {
    "read": ("300", "400", "401", "403", "404", "406", "416", "default"),
    "write": ("400", "401", "403", "404", "406", "409", "413", "default"),
    "change": ("400", "401", "403", "404", "405", "406", "409", "412", "413", "default"),
    "call": ("300", "400", "401", "403", "404", "405", "406", "409", "413", "416", "default"),
}
REFUSED: dict[str, Object] = {
    kind: {status: {"$ref": f"#/components/responses/refused.{status}"} for status in statuses}
    for kind, statuses in _REFUSALS.items()
}
"""Refusals by kind of operation and status, as references. Shared by all operations: never change them."""


def parameters_of(relations: list[CatalogRelation], options: OpenApiOptions, schema: str) -> Object:
    """Return `components.parameters`."""
    parameters: Object = {
        "select": _query("select", "Columns and embedded resources to give; all columns when absent"),
        "order": _query("order", "Columns to order by, each with `.asc` or `.desc`, `.nullsfirst` or `.nullslast`"),
        "limit": _query("limit", "The most rows to give", {"type": "integer", "minimum": 0}),
        "offset": _query("offset", "Rows to skip", {"type": "integer", "minimum": 0}),
        "and": _query("and", "Filters that all hold: `(a.eq.1,or(b.gt.2,c.is.null))`", {"type": "string", "pattern": r"^\(.+\)$"}),
        "or": _query("or", "Filters of which one holds: `(a.eq.1,b.gt.2)`", {"type": "string", "pattern": r"^\(.+\)$"}),
        "columns": _query("columns", "Keys of the body to use; others are ignored", {"type": "string", "minLength": 1}),
        "on_conflict": _query("on_conflict", "Columns of the unique constraint that decides an upsert", {"type": "string", "minLength": 1}),
        "distinct": _query("distinct", "`true` drops equal rows; columns keep the first row of each combination"),
        "having": _query("having", "What aggregates of groups must meet: `qty.sum().gt.2`"),
        "cursor": _query("cursor", "A place between rows, as the `Link` of another page gives it"),
        "nested": _query("nested", "Whether objects hold related rows as well", {"type": "boolean"}),
        "key": _query("key", "Columns that name the row which each object of an array changes", {"type": "string", "minLength": 1}),
        "ifMatch": _header("If-Match", "Entity tag that the rows must still have", {"type": "string"}),
        "ifNoneMatch": _header("If-None-Match", "Entity tag that the rows must not have", {"type": "string"}),
        "range": _header("Range", "First and last row, counted from 0", {"type": "string", "pattern": r"^\d+-\d*$"}),
        "rangeUnit": _header("Range-Unit", "Unit of Range", {"type": "string", "default": "items"}),
        "preferCount": _prefer([*_COUNT, "pagination=cursor", "handling=strict", "handling=lenient"]),
        "preferReturn": _prefer([*_RETURN, "count=exact", *_ANY_WRITE]),
        "preferPost": _prefer([*_RETURN, "resolution=ignore-duplicates", "resolution=merge-duplicates", "count=exact", *_ANY_WRITE]),
        "preferParams": _prefer([*_COUNT, "tx=commit", "tx=rollback", "handling=strict", "handling=lenient"]),
    }  # fmt: skip
    for header in ("Accept-Profile", "Content-Profile") if len(options.schemas) > 1 else ():
        parameters[_profile_key(header)] = {
            **_header(header, "The exposed schema meant", {"type": "string", "enum": [schema]}),
            "required": schema != options.schemas[0],
        }
    for relation in relations:
        for column in relation.columns.values():
            if column.name not in RESERVED:
                about = column.comment or f"Filter by {column.name}: an operator, a dot and a value"
                shape: Object = {"type": "string", "pattern": _FILTER}
                parameters[filter_key(relation, column.name)] = _query(query_name(column.name), about, shape)
    return parameters


def filters_of(relation: CatalogRelation) -> list[Object]:
    """Refer to the row filters of a relation."""
    return [parameter(filter_key(relation, name)) for name in relation.columns if name not in RESERVED]


def added_to(relation: CatalogRelation, kind: str) -> list[Object]:
    """Refer to the parameters beyond the standard grammar that a kind of operation takes (`ADDED`)."""
    return [parameter(name) for name in ADDED[kind] if name not in relation.columns]


def profile_of(header: str, options: OpenApiOptions) -> list[Object]:
    """Refer to the header that names the schema, where there are several."""
    return [parameter(_profile_key(header))] if len(options.schemas) > 1 else []


def filter_key(relation: CatalogRelation, column: str) -> str:
    """Return the key of a row filter among the parameters."""
    return f"rowFilter.{component_key(relation.name)}.{component_key(column)}"


def query_name(column: str) -> str:
    """Write a column as a key of the query string: quoted unless it is a plain name."""
    if _PLAIN_NAME.fullmatch(column):
        return column
    return '"' + column.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parameter(key: str) -> Object:
    """Refer to a component parameter."""
    return {"$ref": f"#/components/parameters/{key}"}


def headers(*names: str) -> Object:
    """Refer to headers of an answer."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def shared_responses() -> Object:
    """Return `components.responses` but for the rows of relations: every refusal has the same body."""
    content = {"application/json": {"schema": ERROR}}
    done = {"description": "No Content", "headers": headers("Content-Range", "Preference-Applied")}
    unchanged = {"description": "Not Modified", "headers": headers("ETag")}
    refusals = {
        f"refused.{status}": {"description": text, "content": content} for status, text in _STATUS.items()
    }
    return {"done": done, "unchanged": unchanged, **refusals}


def error_schema(options: OpenApiOptions) -> Object:
    """Return the schema of an error's body."""
    return {
        "type": "object",
        "description": "What a refusal says",
        "properties": {
            "code": {"type": "string", "description": "SQLSTATE, or a code of the interface"},
            "message": {"type": "string"},
            "details": {"type": ["string", "array", "null"], "items": {"type": "object"}},
            "hint": {"type": ["string", "null"]},
            "current": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Of a condition that does not hold (412), the rows as they are",
            },
            "operation": {
                "type": "integer",
                "description": "Of several operations, the number of the one that failed",
            },
        },
        "required": ["code", "message"] + ([] if options.errors_are_minimal else ["details", "hint"]),
    }


def response_headers() -> Object:
    """Return `components.headers`."""
    text = {"type": "string"}
    return {
        "Content-Range": {
            "description": "First and last row, and the total if it was counted",
            "schema": {"type": "string", "pattern": r"^(\d+-\d+|\*)/(\d+|\*)$"},
        },
        "Content-Location": {"description": "The canonical path of what was read", "schema": text},
        "ETag": {"description": "Entity tag of the rows", "schema": text},
        "Link": {"description": "The next and the previous page", "schema": text},
        "Location": {"description": "Where the row is", "schema": text},
        "Preference-Applied": {"description": "The preferences that took effect", "schema": text},
    }


def security_schemes() -> Object:
    """Return `components.securitySchemes`: the key, and the token of a signed-in user."""
    return {
        "apikey": {"type": "apiKey", "in": "header", "name": "apikey", "description": "A key of the project"},
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "An access token",
        },
    }


def _profile_key(header: str) -> str:
    return "acceptProfile" if header == "Accept-Profile" else "contentProfile"


def _query(name: str, about: str, shape: Object | None = None) -> Object:
    return {
        "name": name,
        "in": "query",
        "description": about,
        "required": False,
        "schema": shape or {"type": "string"},
    }


def _header(name: str, about: str, shape: Object) -> Object:
    return {"name": name, "in": "header", "description": about, "required": False, "schema": shape}


def _prefer(choices: list[str]) -> Object:
    """Describe `Prefer` as a list: comma-separated is how a header writes one."""
    open_ended = {"type": "string", "pattern": r"^(timezone=[A-Za-z0-9_/+:-]+|max-affected=\d+)$"}
    items = {"anyOf": [{"type": "string", "enum": choices}, open_ended]}
    shape: Object = {"type": "array", "items": items}
    return {**_header("Prefer", "Preferences", shape), "style": "simple", "explode": False}
