"""Results of the statements in `introspect.sql` as typed rows, decoded from JSON. Pure."""

from typing import Any

import msgspec
from msgspec import Struct


class CatalogRelationRow(Struct, frozen=True):
    """A relation of an exposed schema."""

    oid: int
    schema: str
    name: str
    kind: str
    row_security: bool
    writes: int
    """Bits: 8 insert, 4 update, 16 delete."""
    comment: str | None
    keeps_inserts: bool = False
    keeps_updates: bool = False


class CatalogColumnRow(Struct, frozen=True, array_like=True):
    """A column of an exposed relation; arrays instead of objects, as there are many."""

    relation: int
    number: int
    name: str
    type: str
    full_type: str | None
    """Only where it differs from `type`."""
    domain_base: str | None
    """Only for a domain."""
    base_oid: int
    nullable: bool
    max_length: int | None
    default: str | None
    is_generated: bool
    is_identity_always: bool
    comment: str | None


class ConstraintRow(Struct, frozen=True):
    """A primary key (p), unique constraint (u) or foreign key (f), with column numbers in the key's order."""

    name: str
    kind: str
    relation: int
    columns: list[int]
    target: int
    """0 unless a foreign key."""
    target_columns: list[int] | None


class ViewRow(Struct, frozen=True):
    """A view's parsed query, as the server stores it."""

    relation: int
    query: str


class ArgumentRow(Struct, frozen=True, array_like=True):
    """An argument in the order of declaration; mode i, o, b (inout), v (variadic) or t (column of a table)."""

    name: str
    mode: str
    type: str


class CatalogFunctionRow(Struct, frozen=True):
    """A function of an exposed schema."""

    schema: str
    name: str
    arguments: list[ArgumentRow]
    defaults: int
    returns_set: bool
    volatility: str
    settings: list[str] | None
    result_schema: str
    result_name: str
    result_kind: str
    """`typtype`: b base, c composite, d domain, e enum, p pseudo-type, r range."""
    composite_schema: str | None
    """The composite type returned, also under a domain."""
    composite_name: str | None
    composite_relation_kind: str | None
    """`c` for a stand-alone composite type, else the kind of the relation whose row type it is."""
    comment: str | None


class ComputedRow(Struct, frozen=True):
    """A function whose argument is a row of one relation."""

    schema: str
    name: str
    origin_schema: str
    origin_name: str
    type: str
    returns_set: bool
    returns_one: bool
    """Declared `ROWS 1`."""
    target_schema: str | None
    """The relation whose rows it returns."""
    target_name: str | None


class RepresentationRow(Struct, frozen=True):
    """A cast between a domain and json or text: `to_json`, `from_json` or `from_text`."""

    domain: str
    direction: str
    schema: str
    name: str


class MediaHandlerRow(Struct, frozen=True):
    """An aggregate or function that returns a media type."""

    media_type: str
    schema: str
    name: str
    is_scalar: bool
    relation_schema: str | None
    relation_name: str | None
    base_type: str


class RoleRow(Struct, frozen=True):
    """A role that the login role may become, with its settings that the role may set itself."""

    name: str
    settings: dict[str, str]


class ServerInfo(Struct, frozen=True):
    """The server's version and the exposed schemas with their comments."""

    server_version: int
    schemas: dict[str, str | None]


class CatalogRows(Struct, frozen=True):
    """One snapshot of the system catalogs: everything that a `Catalog` is built from."""

    server: ServerInfo
    relations: list[CatalogRelationRow] = []
    columns: list[CatalogColumnRow] = []
    enums: dict[int, list[str]] = {}
    constraints: list[ConstraintRow] = []
    views: list[ViewRow] = []
    functions: list[CatalogFunctionRow] = []
    computed: list[ComputedRow] = []
    representations: list[RepresentationRow] = []
    media_handlers: list[MediaHandlerRow] = []
    roles: list[RoleRow] = []


def decode_rows(documents: dict[str, str], views: list[ViewRow]) -> CatalogRows:
    """Decode the statements' results, keyed by field of `CatalogRows`. Raises: msgspec.DecodeError."""
    decoded: dict[str, Any] = {
        field.name: msgspec.json.decode(documents[field.name], type=field.type)
        for field in msgspec.structs.fields(CatalogRows)
        if field.name in documents
    }
    return CatalogRows(**decoded, views=views)
