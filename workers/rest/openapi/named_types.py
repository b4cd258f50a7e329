"""What a description says of types that the catalog knows by name only: domains, enums, composites, result columns.

The schema cache does not hold them, since no request needs them: they are read when a description is asked for, in the
same transaction. Their names are those of the catalog, so the transaction's search_path is empty. Pure.
"""

from typing import NamedTuple

import msgspec

from workers.database.schema_cache.catalog import CatalogFunction
from workers.sql.files import read_statements

NAMED_SQL = read_statements("workers.rest.openapi", "named_types.sql")["named"]
"""One row: the named types that a schema ($1) uses, and the results of its functions."""


class NamedColumn(NamedTuple):
    """A column of a composite type or of a function's result."""

    name: str
    type: str
    comment: str | None = None


class NamedType(msgspec.Struct, frozen=True):
    """A type made by `create type`, `create domain` or an extension."""

    kind: str
    """`typtype`: b base, c composite, d domain, e enum, m multirange, r range."""
    schema: str
    name: str
    base: str | None = None
    """What a domain stands on, which may be another domain."""
    max_length: int | None = None
    labels: tuple[str, ...] | None = None
    columns: tuple[NamedColumn, ...] | None = None
    comment: str | None = None
    has_json_form: bool = False
    """A cast decides what it is in JSON."""


class FunctionResult(msgspec.Struct, frozen=True):
    """What a function gives. `arguments` tell it from its overloads."""

    name: str
    arguments: tuple[str, ...]
    type: str
    columns: tuple[NamedColumn, ...] | None = None
    """Those of OUT, INOUT and TABLE arguments."""


class NamedTypes(msgspec.Struct, frozen=True):
    """The answer of `NAMED_SQL`: types by the catalog's name for them."""

    types: dict[str, NamedType] = {}
    results: tuple[FunctionResult, ...] = ()

    def result_of(self, function: CatalogFunction) -> FunctionResult | None:
        """Find what a function gives; none when it was made after the question."""
        arguments = tuple(argument.type for argument in function.arguments)
        matches = (
            result for result in self.results if (result.name, result.arguments) == (function.name, arguments)
        )
        return next(matches, None)


def named_from(data: bytes) -> NamedTypes:
    """Read the answer of `NAMED_SQL`."""
    return msgspec.json.decode(data, type=NamedTypes)
