"""Runs the rules that look at the database, in one transaction of a session that may read everything."""

import hashlib

import msgspec

from schemas.platform_names import PLATFORM_SCHEMAS
from schemas.settings.tree import Settings
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import Statement
from workers.management.areas.advisors.model import AdvisorFinding, AdvisorRule, CatalogFinding
from workers.management.areas.advisors.row_calls import wrap_row_calls
from workers.management.areas.advisors.rules import CATALOG_RULES
from workers.management.interface.identity.store import decode_rows
from workers.sql.compose import quoted
from workers.sql.files import read_statements

_PACKAGE = "workers.management.areas.advisors"
_SHARED = read_statements(_PACKAGE, "shared.sql")["shared"]
_STATEMENTS = read_statements(_PACKAGE, "security.sql") | read_statements(_PACKAGE, "performance.sql")
_SYSTEM_SCHEMAS = ("information_schema", "pg_catalog", "pg_toast")
_MOST_KEY_BYTES = 400
_EMPTY_SCHEMAS = ("public", "storage")
"""The exposed schemas if `api.schemas` is empty."""

SAFE_SEARCH_PATH = statement("select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)")
"""The first statement of a transaction whose statements name operators and functions of Postgres without their schema."""


def catalog_statements(settings: Settings, rules: tuple[AdvisorRule, ...] = CATALOG_RULES) -> list[Statement]:
    """Return the statements of rules, the first of which makes names safe."""
    lists = {
        "platform": [*PLATFORM_SCHEMAS, *_SYSTEM_SCHEMAS],
        "exposed": settings.api.schemas or _EMPTY_SCHEMAS,
        "slots": [settings.realtime.slot_name],
    }
    value = msgspec.json.encode(lists).decode()
    return [
        SAFE_SEARCH_PATH,
        *(statement(f"{_SHARED}\n{_STATEMENTS[rule.name]}", value) for rule in rules),
    ]


def catalog_findings(
    results: list[Rows], rules: tuple[AdvisorRule, ...] = CATALOG_RULES
) -> list[AdvisorFinding]:
    """Return the findings of the results of `catalog_statements`."""
    return [
        _finding(rule, row)
        for rule, rows in zip(rules, results[1:], strict=True)
        for row in _rows_of(rule, decode_rows(rows, CatalogFinding))
    ]


def _rows_of(rule: AdvisorRule, rows: list[CatalogFinding]) -> list[CatalogFinding]:
    return (
        [with_fix for row in rows if (with_fix := _unwrapped(row))]
        if rule.name == "auth_rls_initplan"
        else rows
    )


def _unwrapped(row: CatalogFinding) -> CatalogFinding | None:
    """Return a candidate with its fix, or None if all its calls are within subqueries."""
    texts = {"using": row.metadata["using"], "with check": row.metadata["check"]}
    wrapped = {clause: wrap_row_calls(text) for clause, text in texts.items() if text is not None}
    changed = [clause for clause, text in wrapped.items() if text != texts[clause]]
    if not changed:
        return None
    clauses = " ".join(f"{clause} ({text})" for clause, text in wrapped.items())
    fix = f"alter policy {quoted(row.part)} on {quoted(row.schema)}.{quoted(row.name)} {clauses};"
    return msgspec.structs.replace(row, fix=fix, metadata={"policy": row.part})


def _finding(rule: AdvisorRule, row: CatalogFinding) -> AdvisorFinding:
    return AdvisorFinding(
        rule.name,
        rule.title,
        rule.level,
        rule.category,
        rule.explanation,
        row.detail,
        row.type,
        _cache_key(rule.name, row.schema, row.name, row.part),
        row.schema,
        row.name,
        row.part or None,
        row.fix,
        metadata=row.metadata,
    )


def _cache_key(*parts: str) -> str:
    """Return a key of the parts; a long one (arguments of functions) is shortened by its digest."""
    key = "_".join(part for part in parts if part)
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    return key if len(key.encode()) <= _MOST_KEY_BYTES else f"{parts[0]}_{digest}"
