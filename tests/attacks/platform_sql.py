"""Which functions and operators the platform's SQL calls, and with which types: read from its sources by Postgres' own parser.

    *.sql, strings of *.py --> statements --> bodies of functions, strings inside --> calls with guesses of their types

A guess is a set: what a column of that name, a function of that name, a literal can be. Too many guesses only make overloads that
nobody calls; a missing one would hide a call, so what cannot be guessed is any of the usual types. A call that names pg_catalog is left
out: no overload changes it.
"""

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pglast
from pglast import ast as sql
from pglast.visitors import Visitor

from tests.attacks.server_catalog import USUAL, Catalog, Types

ROOT = Path(__file__).parents[2]
_FOLDERS = ("services", "workers", "schemas", "broker")
_BEGINS = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*(?:select|with|insert|update|delete|create|alter|drop|grant|revoke|do|set|lock|call|merge|reset|comment|truncate)\b",
    re.IGNORECASE,
)
_MAY_HOLD = re.compile(
    r"[\"']\s*(?:select|with|insert into|update|delete from|create|alter|drop|grant|revoke|do \$|set |lock |call |reset |comment on)\b"
)
"""What quickly tells a program that holds SQL."""
_NAME = re.compile(r"^-- name: .*$", re.MULTILINE)
_MOST, _MOST_OF_POOLS = 64, 4
"""How many combinations of types are tried for one call; fewer where no superuser and no command is at work."""
_POOLS = (
    "workers/rest",
    "workers/graphql",
    "workers/auth",
    "workers/storage",
    "workers/realtime",
    "workers/functions",
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, or of an operator (`is_operator`; a prefix operator has one argument)."""

    name: str
    arguments: tuple[str, ...]
    is_operator: bool = False


@dataclass(slots=True)
class Collected:
    """The calls, and the names of relations that stand without a schema or in pg_catalog."""

    calls: set[Call] = field(default_factory=set)
    relations: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    statements: int = 0
    unread: list[str] = field(default_factory=list)


def collect(catalog: Catalog) -> Collected:
    """Read all SQL of the platform."""
    found = Collected()
    for path, text in platform_sql():
        _read(text, found, catalog, _MOST_OF_POOLS if path.startswith(_POOLS) else _MOST)
    return found


def platform_sql() -> Iterator[tuple[str, str]]:
    """Give every text of SQL in the sources, with its path: sections of files, strings of programs."""
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.sql")):
            text = re.sub(r"^\\echo.*$", "", path.read_text(), flags=re.MULTILINE)
            yield from (
                (str(path.relative_to(ROOT)), section) for section in _NAME.split(text) if section.strip()
            )
        for path in sorted((ROOT / folder).rglob("*.py")):
            source, place = path.read_text(), str(path.relative_to(ROOT))
            if not _MAY_HOLD.search(source):
                continue
            for node in ast.walk(ast.parse(source)):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and _BEGINS.match(node.value)
                ):
                    yield place, node.value
                elif isinstance(node, ast.JoinedStr):
                    # What is filled in is mostly a name; where it is not, the text is not read.
                    parts = [one.value if isinstance(one, ast.Constant) else "x" for one in node.values]
                    if _BEGINS.match(text := "".join(map(str, parts))):
                        yield place, text


def _read(text: str, found: Collected, catalog: Catalog, most: int, depth: int = 0) -> None:
    try:
        statements = pglast.parse_sql(text)
    except (pglast.parser.ParseError, RecursionError):
        if depth == 0:
            found.unread.append(text)
        return
    found.statements += len(statements)
    for raw in statements:
        _Calls(found, catalog, most)(raw.stmt)
        if depth < 3:
            for inner in _inside(raw, text):
                _read(inner, found, catalog, most, depth + 1)


def _inside(raw: sql.RawStmt, text: str) -> Iterator[str]:
    """Give the SQL in the strings of a statement: bodies of functions, and what may be run by EXECUTE."""
    strings: list[str] = []

    class Strings(Visitor):
        def visit_A_Const(self, _: object, node: sql.A_Const) -> None:
            if isinstance(node.val, sql.String):
                strings.append(node.val.sval)

        def visit_String(self, _: object, node: sql.String) -> None:
            strings.append(node.sval)

    Strings()(raw.stmt)
    yield from (one for one in strings if _BEGINS.match(one))
    options = getattr(raw.stmt, "options", None) or getattr(raw.stmt, "args", None) or ()
    is_plpgsql = any(
        getattr(one, "defname", "") == "language" and one.arg.sval == "plpgsql"
        for one in options
        if isinstance(one, sql.DefElem)
    )
    if is_plpgsql or isinstance(raw.stmt, sql.DoStmt):
        start = raw.stmt_location or 0
        whole = text.encode()[start : start + raw.stmt_len if raw.stmt_len else None].decode(errors="ignore")
        yield from _plpgsql(whole)


def _plpgsql(text: str) -> Iterator[str]:
    """Give the expressions and statements of a PL/pgSQL body, each as a statement."""
    try:
        parsed = pglast.parse_plpgsql(text)
    except pglast.parser.ParseError:
        return
    for query in _queries(parsed):
        for form in (query, f"select {query}", re.sub(r"^\s*[\w.\[\]]+\s*:?=", "select ", query, count=1)):
            try:
                pglast.parse_sql(form)
            except pglast.parser.ParseError:
                continue
            yield form
            break


def _queries(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("query"), str):
            yield node["query"]
        for value in node.values():
            yield from _queries(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _queries(value)


class _Calls(Visitor):  # type: ignore[misc]  # pglast has no types
    """Collects the calls of one statement."""

    def __init__(self, found: Collected, catalog: Catalog, most: int) -> None:
        self._found = found
        self._catalog = catalog
        self._most = most

    def visit_FuncCall(self, _: object, node: sql.FuncCall) -> None:
        name = node.funcname[-1].sval
        if node.funcname[0].sval == "pg_catalog":
            return  # nothing of a tenant's is found by that name
        self._add(name, [_guess(one, self._catalog) for one in node.args or ()])

    def visit_A_Expr(self, _: object, node: sql.A_Expr) -> None:
        name = node.name[-1].sval
        if node.name[0].sval == "pg_catalog":
            return
        left, right = node.lexpr, node.rexpr
        if isinstance(right, tuple):  # in (...), between
            for one in right:
                self._add(
                    name if name not in ("BETWEEN", "NOT BETWEEN") else ">=",
                    [_guess(left, self._catalog), _guess(one, self._catalog)],
                    is_operator=True,
                )
            return
        right_types = _guess(right, self._catalog)
        if node.kind in (pglast.enums.A_Expr_Kind.AEXPR_OP_ANY, pglast.enums.A_Expr_Kind.AEXPR_OP_ALL):
            right_types = frozenset(one.removesuffix("[]") for one in right_types)
        self._add(
            name,
            [
                _guess(one, self._catalog) if one is left else right_types
                for one in (left, right)
                if one is not None
            ],
            is_operator=True,
        )

    def visit_RangeVar(self, _: object, node: sql.RangeVar) -> None:
        if node.schemaname in (None, "pg_catalog", "information_schema"):
            self._found.relations.add(node.relname)

    def visit_TypeName(self, _: object, node: sql.TypeName) -> None:
        if node.names:
            self._found.types.add(node.names[-1].sval)

    def _add(self, name: str, arguments: list[Types], *, is_operator: bool = False) -> None:
        if name not in (self._catalog.operators if is_operator else self._catalog.functions) or not arguments:
            return
        for types in itertools.islice(itertools.product(*(sorted(one) for one in arguments)), self._most):
            self._found.calls.add(Call(name, types, is_operator))


def _guess(node: object, catalog: Catalog) -> Types:
    """Guess the types that an expression may have."""
    match node:
        case sql.A_Const(val=value):
            match value:
                case sql.Integer():
                    return frozenset({"int4"})
                case sql.Float():
                    return frozenset({"numeric", "int8"})
                case sql.Boolean():
                    return frozenset({"bool"})
            return frozenset({"text"})  # unknown: an overload for text takes it
        case sql.TypeCast(typeName=name):
            return frozenset({_type_name(name)})
        case sql.FuncCall(funcname=name):
            return catalog.functions.get(name[-1].sval, USUAL)
        case sql.A_Expr(name=name, lexpr=left, rexpr=right) if not isinstance(right, tuple):
            return _result(
                name[-1].sval, _guess(left, catalog) if left else None, _guess(right, catalog), catalog
            )
        case sql.A_Expr():
            return frozenset({"bool"})
        case sql.ColumnRef(fields=fields) if isinstance(fields[-1], sql.String):
            return catalog.columns.get(fields[-1].sval, USUAL)
        case sql.SubLink(subselect=select) if getattr(select, "targetList", None):
            return _guess(select.targetList[0].val, catalog)
        case sql.CoalesceExpr(args=args) | sql.MinMaxExpr(args=args):
            return frozenset().union(*(_guess(one, catalog) for one in args))
        case sql.CaseExpr(args=whens, defresult=default):
            found = frozenset().union(*(_guess(one.result, catalog) for one in whens))
            return found | (_guess(default, catalog) if default else frozenset())
        case sql.A_ArrayExpr(elements=elements) if elements:
            return frozenset(f"{one}[]" for one in _guess(elements[0], catalog) if not one.endswith("]"))
        case sql.BoolExpr() | sql.NullTest() | sql.BooleanTest():
            return frozenset({"bool"})
        case sql.SQLValueFunction():
            return frozenset({"name", "timestamptz"})
        case sql.A_Indirection(arg=arg):
            return frozenset(one.removesuffix("[]") for one in _guess(arg, catalog))
    return USUAL


def _result(name: str, left: Types | None, right: Types, catalog: Catalog) -> Types:
    """Return what an operator gives for these types, else whatever it may give."""
    rows = catalog.operators.get(name, ())
    fitting = {result for one, other, result in rows if (left is None or one in left) and other in right}
    return frozenset(fitting) or frozenset(result for _, _, result in rows) or frozenset({"bool"})


def _type_name(name: sql.TypeName) -> str:
    base = name.names[-1].sval
    base = '"char"' if base == "char" and len(name.names) == 1 else base
    return base + ("[]" if name.arrayBounds else "")
