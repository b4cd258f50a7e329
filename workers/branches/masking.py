"""Masks what a branch must not show, before it is started the first time: rules of the settings, branches/mask.sql, and accounts.

    check all rules --> accounts, as supabase_auth_admin --> rules, as the owner of each table --> mask.sql, as role postgres
    --> materialized views, as the owner of each --> statistics --> rewrite

Equal values get equal masks in the whole branch, so joins fit: every mask comes from SHA-256 of the value behind a random text that lives in
these sessions alone. No session is a superuser's. Triggers are off while rules are applied, since one that returns the old row would undo a
mask, and row security is an error where it would hide a row from its table's owner.
Afterwards materialized views, which copied values, are read again. Each table is rewritten and analyzed (VACUUM FULL, ANALYZE): its files
have no older versions of rows, and the statistics of the planner, which hold values, are those of the masks. ANALYZE leaves the statistics of a table
without rows as they are, so all are deleted before. An error ends the making of the branch, of which nothing is left then.
"""

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence

import asyncpg

from schemas.branch_masks import InvalidMask, MaskRule, read_rules
from schemas.branches import Masking
from workers.branches.errors import BranchRejected
from workers.database.sessions.throwaway_logins import UnknownRole, login_as
from workers.project.project_connection import OWNER
from workers.sql.compose import Sql, concat, ident, join, literal, qualified, raw, render
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.branches", "masking.sql")
_TRIGGERS = read_statements("workers.backup", "save.sql")["triggers"]
"""Statements that switch triggers of tables off and back (workers/backup)."""
_OF_SUPERUSER = read_statements("workers.branches", "prepare_copy.sql")
_AUTH = "supabase_auth_admin"
_ACCOUNT_TABLES = ("users", "identities", "mfa_factors", "webauthn_credentials")
_LOGGED = ("audit_log_entries", "unproven_addresses", "known_networks", "rate_limits", "saml_assertions")
_LOGGED_BEGINNINGS = ("attempts", "outbox")
"""Tables of auth, by name and by the beginning of it, with addresses of persons and of their machines; they are emptied."""
_TEXT_KINDS = ("email", "name", "text")


async def mask_copy(superuser: asyncpg.Connection, url: str, masking: Masking) -> list[str]:
    """Mask a copied database; return what was masked, in words. Raises: BranchRejected; the driver's errors."""
    if not masking.rules and masking.sql is None:
        return []
    try:
        rules = read_rules(masking.rules)
    except InvalidMask as error:
        raise BranchRejected(str(error)) from None
    by_owner: dict[str, dict[tuple[str, str], list[Sql]]] = defaultdict(lambda: defaultdict(list))
    for rule in rules:  # all are checked before one is applied
        owner, change = await _checked(superuser, rule)
        by_owner[owner][rule.schema, rule.table].append(change)
    settings = {"headwater.mask": secrets.token_hex(32), "statement_timeout": "0", "row_security": "off"}
    done = [f"{len(rules)} columns"] if rules else []
    if not masking.keeps_accounts:
        await _mask_accounts(superuser, url, settings)
        done.append("accounts")
    for owner, tables in by_owner.items():
        updates = [_update(name, changes) for name, changes in tables.items()]
        await _run(superuser, url, owner, settings, await _without_triggers(superuser, list(tables), updates))
    if masking.sql is not None:
        try:
            await _run(superuser, url, OWNER, settings, [masking.sql])
        except asyncpg.PostgresError as error:
            raise BranchRejected(f"branches/mask.sql failed: {error}") from None
        done.append("branches/mask.sql")
    if views := await superuser.fetch(_OF_SUPERUSER["materialized_views"]):
        await _read_views_again(superuser, url, [(view["owner"], view["name"]) for view in views])
        done.append(f"{len(views)} materialized views")
    await _forget_statistics(superuser, masking, by_owner)
    if not masking.keeps_accounts:
        await _rewrite(superuser, url, _AUTH, await _tables_of_auth(superuser))
    for owner, tables in by_owner.items():
        await _rewrite(superuser, url, owner, [_text(qualified(*name)) for name in tables])
    for view in views:
        await _rewrite(superuser, url, view["owner"], [view["name"]])
    if masking.sql is not None:
        await _rewrite(
            superuser, url, OWNER, [""]
        )  # every table that the role owns: the text may have changed any
    return done


async def _checked(superuser: asyncpg.Connection, rule: MaskRule) -> tuple[str, Sql]:
    """Return the owner of a rule's table and the assignment that masks the column. Raises: BranchRejected."""
    row = await superuser.fetchrow(_OF_SUPERUSER["mask_column"], rule.schema, rule.table, rule.column)
    if row is None:
        raise _rejected(rule, "there is no such column")
    if row["kind"] not in ("r", "p"):
        raise _rejected(rule, "it is not a column of a table")
    if row["is_superusers"]:
        raise _rejected(rule, "its table belongs to a superuser")
    if row["is_generated"]:
        raise _rejected(rule, "it is generated from other columns: mask those")
    if rule.kind == "null" and row["is_required"]:
        raise _rejected(rule, "it must not be null")
    is_text = row["category"] == "S"
    if (rule.kind in _TEXT_KINDS and not is_text) or (
        rule.kind == "hash" and not is_text and row["type_name"] != "uuid"
    ):
        raise _rejected(rule, f"the kind {rule.kind} is for texts, and its type is {row['type']}")
    if rule.kind == "number" and row["category"] != "N":
        raise _rejected(rule, f"the kind number is for numbers, and its type is {row['type']}")
    column = ident(rule.column)
    value = concat(column, raw("::pg_catalog.text"))
    match rule.kind:
        case "null":
            mask = raw("null")
        case "number":
            bounds = _bounds(rule)
            mask = concat(raw("pg_temp.mask_number("), value, raw(", "), bounds, raw(")"))
        case "hash":
            mask = concat(raw("pg_temp.mask_hash("), value, raw(")"))
        case "email":
            mask = concat(raw("pg_temp.mask_email("), value, raw(")"))
        case "name":
            mask = concat(raw("pg_temp.mask_name("), value, raw(")"))
        case _:
            mask = concat(raw("pg_temp.mask_text("), value, raw(")"))
    # The type is the server's own spelling of it; the cast cuts a text that is too long for it.
    return row["owner"], concat(column, raw(" = ("), mask, raw(")::"), Sql((row["type"],)))


def _bounds(rule: MaskRule) -> Sql:
    return concat(
        literal(str(rule.least)),
        raw("::pg_catalog.int8, "),
        literal(str(rule.most)),
        raw("::pg_catalog.int8"),
    )


def _update(table: tuple[str, str], changes: Sequence[Sql]) -> str:
    return _text(concat(raw("update "), qualified(*table), raw(" set "), join(", ", changes)))


def _text(sql: Sql) -> str:
    text, parameters = render(sql)
    assert not parameters  # names and literals alone
    return text


async def _mask_accounts(superuser: asyncpg.Connection, url: str, settings: dict[str, str]) -> None:
    rows = await superuser.fetch(_OF_SUPERUSER["account_tables"], list(_LOGGED), list(_LOGGED_BEGINNINGS))
    logged = [row["name"] for row in rows]
    masking = [*(f"delete from {name}" for name in logged), _STATEMENTS["accounts"]]  # noqa: S608 - quoted by the server
    tables = [("auth", name) for name in _ACCOUNT_TABLES]
    await _run(superuser, url, _AUTH, settings, await _without_triggers(superuser, tables, masking))


async def _tables_of_auth(superuser: asyncpg.Connection) -> list[str]:
    """Return all tables of auth: those that `prepare_copy` emptied had addresses, too."""
    return [row["name"] for row in await superuser.fetch(_OF_SUPERUSER["account_tables"], [], [""])]


async def _read_views_again(
    superuser: asyncpg.Connection, url: str, views: Sequence[tuple[str, str]]
) -> None:
    """Make materialized views (owner, name) of the masks, each as its owner. Raises: BranchRejected for one that cannot be read."""
    settings = {"statement_timeout": "0"}
    for owner, name in views:
        try:
            async with login_as(
                superuser, url, owner, settings=settings, fires_event_triggers=False
            ) as session:
                await session.execute(f"refresh materialized view {name}")
        except (UnknownRole, asyncpg.PostgresError) as error:
            raise BranchRejected(
                f"Values in the materialized view {name} cannot be replaced by masks: {error}. Drop it or make it refreshable. Nothing was made."
            ) from None


async def _forget_statistics(
    superuser: asyncpg.Connection,
    masking: Masking,
    by_owner: Mapping[str, Mapping[tuple[str, str], Sequence[Sql]]],
) -> None:
    """Delete the planner's statistics of all tables that may have been masked, and rewrite the table that had them."""
    tables = [_text(qualified(*name)) for named in by_owner.values() for name in named]
    if not masking.keeps_accounts:
        tables += await _tables_of_auth(superuser)
    await superuser.execute(
        _OF_SUPERUSER["forget_statistics"], tables, OWNER if masking.sql is not None else None
    )
    await superuser.execute("vacuum full pg_catalog.pg_statistic")
    await superuser.execute("vacuum full pg_catalog.pg_statistic_ext_data")


async def _without_triggers(
    superuser: asyncpg.Connection, tables: Sequence[tuple[str, str]], statements: Sequence[str]
) -> list[str]:
    """Return statements between those that switch the triggers of tables off and back as they were."""
    schemas, names = [schema for schema, _ in tables], [name for _, name in tables]
    triggers = await superuser.fetch(_TRIGGERS, schemas, names)
    return [*(row["off"] for row in triggers), *statements, *(row["back"] for row in triggers)]


async def _run(
    superuser: asyncpg.Connection, url: str, role: str, settings: dict[str, str], statements: Sequence[str]
) -> None:
    """Run statements in one transaction of a session of a role, which has the functions that mask."""
    async with login_as(superuser, url, role, settings=settings, fires_event_triggers=False) as session:
        await session.execute(_STATEMENTS["functions"])
        async with session.transaction():
            for statement in statements:
                await session.execute(statement)


async def _rewrite(superuser: asyncpg.Connection, url: str, role: str, tables: Sequence[str]) -> None:
    """Rewrite tables without what they were, and their statistics."""
    settings = {"statement_timeout": "0", "client_min_messages": "error"}
    async with login_as(superuser, url, role, settings=settings, fires_event_triggers=False) as session:
        for table in tables:
            await session.execute(f"vacuum (full, analyze) {table}")


def _rejected(rule: MaskRule, reason: str) -> BranchRejected:
    return BranchRejected(f'[branches.mask] "{rule.name}": {reason}. Nothing was made.')
