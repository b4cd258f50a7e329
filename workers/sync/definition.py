"""What a request names -> what a shape consists of: the table as the caller sees it, its columns, its SQL, and whose it is.

Everything is checked before a shape exists: the table and its columns are readable, the expression fits, and the policies can be
served. Nothing of the client's text reaches the server but as parameters (`where/grammar.py`).
Source: docs/sync.md.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.sql.compose import EMPTY, Sql
from workers.sync.catalog import Reached, Relation, SyncColumn, SyncTable, read_reached, read_table
from workers.sync.errors import InvalidParameters, ShapeForbidden, ShapeNotReady
from workers.sync.identity import RequestPolicy, SyncIdentity, identify
from workers.sync.messages import MessageFormat
from workers.sync.names import TableName
from workers.sync.parameters import ShapeDefinition, SubsetRequest
from workers.sync.reading import DatabaseSession, check
from workers.sync.rows import ShapeSql
from workers.sync.where.equality import COMPARABLE, equal_columns
from workers.sync.where.grammar import parse_where
from workers.sync.where.order import SubsetOrder, parse_order
from workers.sync.where.pieces import Pieces, subqueries_of
from workers.sync.where.render import Scope, render_where
from workers.sync.where.tokens import ExpressionRejected

_NOT_BOOLEAN = "42804"
_PASSING = ("53", "55", "57", "58", "XX", "08", "40")


@dataclass(frozen=True, slots=True)
class SyncCaller:
    """A role, its claims, and its settings (`alter role ... set`)."""

    role: str
    claims: Mapping[str, object]
    role_settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedShape:
    """A definition with everything that the catalog says about it, for one identity."""

    definition: ShapeDefinition
    table: SyncTable
    columns: tuple[SyncColumn, ...]
    sql: ShapeSql
    identity: SyncIdentity
    session: DatabaseSession
    own: frozenset[TableName]
    """Names under which changes of the table come: its own, those of partitions, and of what it is a partition of."""
    others: frozenset[TableName]
    """Tables on which the rows depend besides: those of subqueries and policies."""
    published: tuple[int, ...]
    """Tables whose changes must be in the log."""
    optional: tuple[int, ...]
    """Tables that are published if they can be."""
    is_opaque: bool
    """Something may change the rows that no change of a known table announces: they are compared at intervals."""
    key: str
    """Digest of definition and identity."""
    equal: dict[str, str]
    """Columns that must equal a constant, and its text: other rows are not in the shape."""
    has_plain_key: bool
    """The texts of a key in the stream are those of the shape."""

    @property
    def watched(self) -> tuple[int, ...]:
        """Return the tables whose definitions and policies matter."""
        return (*self.published, *self.optional)

    @property
    def form(self) -> MessageFormat:
        """Return what its messages have in common."""
        table = self.table
        return MessageFormat((table.schema, table.name), frozenset(table.key), self.definition.is_full)

    @property
    def fingerprint(self) -> str:
        """Return a digest of what must stay as it is: if it changes, the shape ends."""
        stable = (self.key, self.table.oid, self.columns, self.table.key)
        return hashlib.sha256(msgspec.msgpack.encode(stable)).hexdigest()


async def resolve(database: ConnectionPool, definition: ShapeDefinition, caller: SyncCaller) -> ResolvedShape:
    """Resolve a definition for a caller. Raises: InvalidParameters, ShapeForbidden, ShapeNotReady; Disconnected, PoolTimeout."""
    table = await read_table(database, definition.table, caller.role)
    if table is None or not table.may_use:
        raise InvalidParameters("table", _missing(definition.table))
    columns = _columns(table, definition)
    pieces = _parse(definition.where) if definition.where else ()
    inner = await _inner_tables(database, pieces, caller)
    scope = Scope(
        {definition.table: table.readable, **{name: one.readable for name, one in inner.items()}},
        definition.params,
    )
    where = _render(pieces, definition.table, scope) if pieces else EMPTY
    key = tuple(column for name in table.key for column in table.columns if column.name == name)
    sql = ShapeSql((table.schema, table.name), columns, key, where)
    if definition.has_tags and not sql.has_tags:
        text = (
            "a domain among the columns is shown by a function of its own: leave it out of columns, or etags"
        )
        raise InvalidParameters("etags", text)
    tables = [table, *inner.values()]
    reached = (
        await read_reached(database, [one.oid for one in tables])
        if any(one.row_security for one in tables)
        else Reached()
    )
    identity = _identity(caller, tables, reached)
    session = DatabaseSession(caller.role, _claims(identity), table.schema, caller.role_settings)
    await _check(database, session, sql)
    plain = {
        column.name: column.type
        for column in table.columns
        if column.type in COMPARABLE
        and column.category == "b"
        and not column.dimensions
        and column.is_deterministic
    }
    equal = equal_columns(pieces, plain, definition.params) if pieces else {}
    resolved = _resolved(definition, tables, columns, sql, identity, session, reached)
    return replace(resolved, equal=equal, has_plain_key=all(name in plain for name in table.key))


async def resolve_subset(
    database: ConnectionPool, shape: ResolvedShape, subset: SubsetRequest
) -> tuple[Sql, list[SubsetOrder]]:
    """Return the filter and the order of a subset. Raises: InvalidParameters; Disconnected, PoolTimeout."""
    name = (shape.table.schema, shape.table.name)
    queryable = shape.definition.queryable
    readable = shape.table.readable if queryable is None else shape.table.readable & {*queryable}
    where: Sql = EMPTY
    if subset.where:
        try:
            pieces = parse_where(subset.where, allows_subqueries=False)
            where = render_where(pieces, name, Scope({name: readable}, subset.params))
        except ExpressionRejected as error:
            raise InvalidParameters("where", str(error), is_of_subset=True) from None
    order: list[SubsetOrder] = []
    if subset.order_by:
        try:
            order = parse_order(subset.order_by)
        except ExpressionRejected as error:
            raise InvalidParameters("order_by", str(error), is_of_subset=True) from None
        if unknown := [term.column for term in order if term.column not in readable]:
            raise InvalidParameters("order_by", f"unknown column {unknown[0]}", is_of_subset=True)
    if where or order:
        try:
            await check(database, shape.session, shape.sql.check(where, order))
        except DatabaseError as error:
            raise _rejection(error, "where", is_of_subset=True) from None
    return where, order


def _missing(name: TableName) -> str:
    return (
        f'Table "{name[0]}"."{name[1]}" does not exist. '
        "If the table name contains capitals or special characters you must quote it."
    )


def _columns(table: SyncTable, definition: ShapeDefinition) -> tuple[SyncColumn, ...]:
    """Return the columns of a shape in table order. Raises: InvalidParameters, ShapeForbidden."""
    if not table.readable:
        raise ShapeForbidden("table", "permission denied for the table")
    if not table.key:
        name = f'"{table.schema}"."{table.name}"'
        text = f"the table has no primary key, so its rows cannot be told apart: alter table {name} add primary key (...)"
        raise InvalidParameters("table", text)
    if hidden := [name for name in table.key if name not in table.readable]:
        raise ShapeForbidden("columns", f"permission denied for the primary key column {hidden[0]}")
    if definition.queryable is not None:
        _check_names(table, "queryable_columns", definition.queryable)
    chosen = definition.queryable if definition.columns is None else definition.columns
    if chosen is None:
        return tuple(column for column in table.columns if column.may_select)
    _check_names(table, "columns", chosen)
    if missing := [name for name in table.key if name not in chosen]:
        text = f"The list of columns must include all primary key columns, missing: {', '.join(missing)}"
        raise InvalidParameters("columns", text)
    if more := [name for name in chosen if name not in (definition.queryable or chosen)]:
        raise InvalidParameters("columns", f"The following columns are not queryable: {', '.join(more)}")
    return tuple(column for column in table.columns if column.name in chosen)


def _check_names(table: SyncTable, parameter: str, chosen: tuple[str, ...]) -> None:
    """Raise InvalidParameters for a column that is not there, ShapeForbidden for one that the role may not read."""
    names = {column.name for column in table.columns}
    if unknown := [name for name in chosen if name not in names]:
        text = f"The following columns are not found on the table: {', '.join(unknown)}"
        raise InvalidParameters(parameter, text)
    if denied := [name for name in chosen if name not in table.readable]:
        raise ShapeForbidden(parameter, f"permission denied for column {denied[0]}")


def _parse(text: str) -> Pieces:
    try:
        return parse_where(text, allows_subqueries=True)
    except ExpressionRejected as error:
        raise InvalidParameters("where", str(error)) from None


def _render(pieces: Pieces, table: TableName, scope: Scope) -> Sql:
    try:
        return render_where(pieces, table, scope)
    except ExpressionRejected as error:
        raise InvalidParameters("where", str(error)) from None


async def _inner_tables(
    database: ConnectionPool, pieces: Pieces, caller: SyncCaller
) -> dict[TableName, SyncTable]:
    """Return the tables of subqueries. Raises: InvalidParameters for one that the caller may not read."""
    tables = {}
    for name in dict.fromkeys(subquery.table for subquery in subqueries_of(pieces)):
        table = await read_table(database, name, caller.role)
        if table is None or not table.readable:
            raise InvalidParameters("where", _missing(name))
        tables[name] = table
    return tables


def _identity(caller: SyncCaller, tables: list[SyncTable], reached: Reached) -> SyncIdentity:
    try:
        return identify(caller.role, caller.claims, tables, reached)
    except RequestPolicy:
        text = "a policy of the table reads the request (request.headers or the like), which a shape has not"
        raise InvalidParameters("table", text) from None


def _claims(identity: SyncIdentity) -> str:
    """Return the claims that the shape's statements run with: those of its identity alone, so that nothing else can matter."""
    claims = msgspec.json.decode(identity.claims, type=dict[str, object])
    present = {name: value for name, value in claims.items() if value is not None}
    return msgspec.json.encode({**present, "role": identity.role}).decode()


async def _check(database: ConnectionPool, session: DatabaseSession, sql: ShapeSql) -> None:
    try:
        await check(database, session, sql.check())
    except DatabaseError as error:
        raise _rejection(error, "where") from None


def _rejection(
    error: DatabaseError, parameter: str, *, is_of_subset: bool = False
) -> InvalidParameters | ShapeNotReady | ShapeForbidden:
    if error.code[:2] in _PASSING:
        return ShapeNotReady("Failed to create shape, please retry")
    if error.code == "42501":
        return ShapeForbidden(parameter, "permission denied")
    if error.code == _NOT_BOOLEAN and "WHERE" in error.message:
        return InvalidParameters(parameter, "WHERE clause must return a boolean", is_of_subset=is_of_subset)
    return InvalidParameters(parameter, error.message, is_of_subset=is_of_subset)


def _resolved(
    definition: ShapeDefinition,
    tables: list[SyncTable],
    columns: tuple[SyncColumn, ...],
    sql: ShapeSql,
    identity: SyncIdentity,
    session: DatabaseSession,
    reached: Reached,
) -> ResolvedShape:
    table, inner = tables[0], tables[1:]
    own = frozenset((one.schema, one.name) for one in table.tree)
    others = {(one.schema, one.name): one.oid for part in inner for one in part.tree}
    more = {(one.schema, one.name): one.oid for one in reached.tables if not _is_platform(one)}
    described = (
        definition.table, definition.where, definition.params, definition.columns, definition.is_full,
        definition.has_snapshot, identity.role, identity.kind, identity.claims,
        *([True] if definition.has_tags else []),  # others keep the digest that stored shapes have
        *([definition.queryable] if definition.queryable is not None else []),
    )  # fmt: skip
    return ResolvedShape(
        definition=definition,
        table=table,
        columns=columns,
        sql=sql,
        identity=identity,
        session=session,
        own=own,
        others=frozenset({**others, **more}) - own,
        published=tuple(dict.fromkeys([one.oid for part in tables for one in part.tree])),
        optional=tuple(oid for name, oid in more.items() if name not in own and name not in others),
        is_opaque=identity.kind == 3,
        key=hashlib.sha256(msgspec.msgpack.encode(described)).hexdigest(),
        equal={},
        has_plain_key=False,
    )


def _is_platform(relation: Relation) -> bool:
    return relation.schema in ("pg_catalog", "information_schema")
