"""Read the SQL that runs in superuser sessions, or with the rights of a function's owner, by Postgres' own parser.

    parts of migrations, named statements, strings of programs --> statements --> bodies of functions and DO, texts for EXECUTE

What is looked for is told by `faults_of`. Names of types and operators may stand alone: in a superuser's session, and in a
function that sets it, the path is `pg_catalog, pg_temp` (workers/database/sessions/superuser.py).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pglast
from pglast import ast as sql
from pglast.enums import VariableSetKind
from pglast.visitors import Visitor

PATH = ("pg_catalog", "pg_temp")
_OWN_SCHEMAS = ("headwater", "headwater_history", "headwater_jobs", "pg_catalog")
"""Whose tables a superuser may read and write, and whose functions it may call. Elsewhere a tenant has triggers, replaces functions,
and makes indexes and checks whose expressions the planner evaluates when a table is only read."""
_IDENTITY = ("role", "session_authorization")
_STARTS = re.compile(
    r"\s*(select|with|insert|update|delete|create|alter|drop|grant|revoke|do|set|reset|lock|call|comment|truncate|copy)\b",
    re.IGNORECASE,
)
_HOLES = re.compile(r"%(?:\d+\$)?([sIL])")
_DECLARED = re.compile(r"^(\s*\w+ (?:constant )?)\w+\.\w+((?:\[\])?(?: :=.*)?;)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scope:
    """As what a statement runs: `is_superuser`, and whether its path is that of the catalog."""

    is_superuser: bool
    has_path: bool


def faults_of(text: str, *, is_superuser: bool) -> list[str]:
    """Return what is wrong with SQL: of a superuser's session, or (else) with the functions that it defines."""
    return list(_faults(text, Scope(is_superuser, has_path=True), depth=0))


def _faults(text: str, scope: Scope, depth: int) -> Iterator[str]:
    try:
        statements = pglast.parse_sql(text)
    except pglast.parser.ParseError as error:
        yield f"cannot be read: {error}: {text[:80]!r}"
        return
    for raw in statements:
        start = raw.stmt_location or 0
        whole = text.encode()[start : start + raw.stmt_len if raw.stmt_len else None].decode()
        yield from _faults_of_statement(raw.stmt, whole, scope, depth)


def _faults_of_statement(node: sql.Node, text: str, scope: Scope, depth: int) -> Iterator[str]:
    if isinstance(node, sql.CreateFunctionStmt):
        yield from _faults_of_function(node, text, scope, depth)
        return
    if isinstance(node, sql.DoStmt):
        for inner in _plpgsql(text):
            yield from _faults(inner, scope, depth + 1)
        return
    if scope.is_superuser:
        if isinstance(node, sql.VariableSetStmt) and node.name == "search_path":
            yield "changes the path"
        finder = _Names()
        finder(node)
        yield from finder.faults
        if depth < 3:
            for inner in finder.texts:
                yield from _faults_of_text(inner, scope, depth)


def _faults_of_text(text: str, scope: Scope, depth: int) -> Iterator[str]:
    """Look into a string that may be run by EXECUTE, with `format`'s holes filled by something that parses."""
    if not _STARTS.match(text):
        return
    filled = _HOLES.sub(lambda hole: {"s": "headwater.x", "I": "x", "L": "'begin end'"}[hole[1]], text)
    try:
        pglast.parse_sql(filled)
    except pglast.parser.ParseError:
        if re.search(
            r"\b(set|reset)\s+(local\s+|session\s+)?(role|session\s+authorization)\b", text, re.IGNORECASE
        ):
            yield f"changes the role: {text[:80]!r}"
        return
    yield from _faults(filled, scope, depth + 1)


def _faults_of_function(node: sql.CreateFunctionStmt, text: str, scope: Scope, depth: int) -> Iterator[str]:
    name = ".".join(part.sval for part in node.funcname)
    options = {option.defname: option.arg for option in node.options if option.defname != "set"}
    if any(
        option.defname == "set" and option.arg.kind is VariableSetKind.VAR_SET_CURRENT
        for option in node.options
    ):
        return  # a guarded copy of a tenant's function (platform/0018): its path is the tenant's, by intention
    paths = [
        tuple(part.val.sval for part in option.arg.args or ())
        for option in node.options
        if option.defname == "set" and option.arg.name == "search_path"
    ]
    returns = node.returnType.names[-1].sval if node.returnType else ""
    is_definer = "security" in options and bool(options["security"].boolval)
    if is_definer or returns in ("trigger", "event_trigger") or paths:
        if paths and paths != [PATH]:
            yield f"function {name} has the path {paths[0]}"
        elif not paths:
            yield f"function {name} has no search_path"
    if len(node.funcname) < 2:
        yield f"function {name} stands in no schema"
    if options["language"].sval == "plpgsql":
        for inner in _plpgsql(text):
            yield from _faults_of_body(inner, name, depth, has_path=paths == [PATH])


def _faults_of_body(text: str, name: str, depth: int, *, has_path: bool) -> Iterator[str]:
    """Look into a body: relations are qualified always, functions where the path is not the catalog's."""
    finder = _Names()
    try:
        for raw in pglast.parse_sql(text):
            finder(raw.stmt)
    except pglast.parser.ParseError as error:
        yield f"function {name}: cannot be read: {error}"
        return
    for fault in finder.faults:
        if fault.startswith("changes the role") or (not has_path and fault.startswith("function")):
            yield f"function {name}: {fault}"


def _plpgsql(text: str) -> Iterator[str]:
    """Yield the expressions and statements of a PL/pgSQL body, each as a statement."""
    # The parser knows no types of other schemas.
    readable = _DECLARED.sub(r"\g<1>text\g<2>", text)
    for query in _queries(pglast.parse_plpgsql(readable)):
        for form in (query, f"select {query}", re.sub(r"^\s*[\w.\[\]]+\s*:?=", "select ", query, count=1)):
            try:
                pglast.parse_sql(form)
            except pglast.parser.ParseError:
                continue
            yield form
            break
        else:
            yield query


def _queries(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("query"), str):
            yield node["query"]
        for value in node.values():
            yield from _queries(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _queries(value)


def _relations(items: object) -> Iterator[sql.RangeVar]:
    """Yield the tables of a FROM, those of joins too."""
    for item in items if isinstance(items, tuple) else ():
        match item:
            case sql.RangeVar():
                yield item
            case sql.JoinExpr():
                yield from _relations((item.larg, item.rarg))


class _Names(Visitor):  # type: ignore[misc]  # pglast has no types
    """Finds names without a schema, changes of the role, and rows changed where a tenant may have triggers."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.texts: list[str] = []
        self._known: set[str] = set()

    def visit_CommonTableExpr(self, _: object, node: sql.CommonTableExpr) -> None:
        self._known.add(node.ctename)

    def visit_SelectStmt(self, _: object, node: sql.SelectStmt) -> None:
        for each in node.withClause.ctes if node.withClause else ():
            self._known.add(each.ctename)
        for relation in _relations(node.fromClause):
            if relation.schemaname not in (None, *_OWN_SCHEMAS):
                self.faults.append(
                    f"reads {relation.schemaname}.{relation.relname}, whose indexes may run code"
                )

    def visit_FuncCall(self, _: object, node: sql.FuncCall) -> None:
        names = [part.sval for part in node.funcname]
        if len(names) == 1:
            self.faults.append(f"function {names[0]} stands without its schema")
        elif names[0] not in _OWN_SCHEMAS:
            self.faults.append(f"calls {'.'.join(names)}, which may have been replaced")
        first = node.args[0] if node.args else None
        is_identity = isinstance(first, sql.A_Const) and getattr(first.val, "sval", "") in _IDENTITY
        if names[-1] == "set_config" and is_identity:
            self.faults.append("changes the role by set_config")

    def visit_RangeVar(self, _: object, node: sql.RangeVar) -> None:
        if node.schemaname is None and node.relname not in self._known and node.relpersistence != "t":
            self.faults.append(f"relation {node.relname} stands without its schema")

    def visit_VariableSetStmt(self, _: object, node: sql.VariableSetStmt) -> None:
        if node.name in _IDENTITY:
            self.faults.append(f"changes the role: set or reset {node.name}")

    def visit_InsertStmt(self, _: object, node: sql.InsertStmt) -> None:
        self._changed(node.relation)

    def visit_UpdateStmt(self, _: object, node: sql.UpdateStmt) -> None:
        self._changed(node.relation)

    def visit_DeleteStmt(self, _: object, node: sql.DeleteStmt) -> None:
        self._changed(node.relation)

    def visit_A_Const(self, _: object, node: sql.A_Const) -> None:
        if isinstance(node.val, sql.String):
            self.texts.append(node.val.sval)

    def _changed(self, relation: sql.RangeVar) -> None:
        if relation.schemaname not in _OWN_SCHEMAS:
            self.faults.append(
                f"changes rows of {relation.schemaname}.{relation.relname}, which may have triggers"
            )
