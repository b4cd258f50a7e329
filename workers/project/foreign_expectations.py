"""What files of a project may expect of the hosted platform they were written for, and how it is met here.

- A statement that deletes rows of `storage.objects` or `storage.buckets`: the guard of these tables (SQLSTATE 42501) is younger than
  many migrations, so it is open for that one statement, by its own setting. The platform's sweep removes the bytes of the rows.
- A file that names `pgsodium.key` or its sequence, as data dumps of hosted projects do: the schema, the table and the sequence are
  created, empty and without any function.
- A statement that has the module `safeupdate` loaded for role authenticator, or no longer: the module does not exist here, so the
  statement sets `safeupdate.enabled` instead, by which the data API requires filters.
- A file that names `supabase_functions.http_request`, the function of database webhooks: it sends through pg_net, which the
  hosted platform has from the start. The extension is created, unless the file itself creates it.
"""

import contextlib
import re
from collections.abc import AsyncIterator, Iterable, Sequence

import asyncpg

from workers.project.sql_splitter import ScriptStatement
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "foreign_expectations.sql")
_MAKE_KEY = ("make_pgsodium_schema", "make_pgsodium_key", "describe_pgsodium_key")
PGSODIUM_NOTICE = (
    "{name} names pgsodium.key: an empty table of that name was created. Nothing here uses it; "
    "secrets belong to the vault."
)
WEBHOOKS_NOTICE = "{name} makes database webhooks, which send through pg_net: the extension was created."
DELETE_NOTICE = (
    "{name}, statement {number} deletes rows of storage by SQL. It is allowed in the files of a project; "
    "the bytes of the rows are removed by the platform within hours. An application deletes by the storage interface."
)

SAFEUPDATE_NOTICE = (
    "{name}, statement {number} loads or unloads the module safeupdate, which is not here: it sets safeupdate.enabled of the role "
    "instead. The data API obeys it, statements inside of functions do not."
)

_PRELOAD = re.compile(
    r"""alter\s+role\s+(?:authenticator|"authenticator")\s+
    (?:reset\s+(?:session_preload_libraries|"session_preload_libraries")
    |set\s+(?:session_preload_libraries|"session_preload_libraries")\s*(?:=|\sto\s)\s*(?:(?P<on>'safeupdate'|safeupdate|"safeupdate")|''|default))\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_DELETE = re.compile(
    r"""\bdelete\s+from\s+(?:only\s+)?(?:storage|"storage")\s*\.\s*(?:(?:objects|buckets)\b|"(?:objects|buckets)")""",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"create (or replace )?(function|procedure|policy|trigger|rule)\b")
_PGSODIUM = re.compile(
    r"""(?<![\w$."])(?:pgsodium|"pgsodium")\s*\.\s*(?:key(?:_key_id_seq)?\b|"key(?:_key_id_seq)?")""",
    re.IGNORECASE,
)
_WEBHOOK = re.compile(
    r"""(?<![\w$."])(?:supabase_functions|"supabase_functions")\s*\.\s*(?:http_request\b|"http_request")""",
    re.IGNORECASE,
)
_PG_NET = re.compile(r"""create\s+extension\s+(?:if\s+not\s+exists\s+)?"?pg_net\b""", re.IGNORECASE)


def deletes_stored_rows(statement: ScriptStatement) -> bool:
    """Return whether a statement itself deletes rows of storage; one that only defines a function or rule does not (pure)."""
    if _DEFINITION.match(" ".join(statement.words)):
        return False
    return _DELETE.search(statement.text, statement.head) is not None


def safeupdate_setting(statement: ScriptStatement) -> str | None:
    """Return the statement to run in the place of one that loads or unloads the module safeupdate; None for any other (pure)."""
    match = _PRELOAD.fullmatch(statement.text, statement.head)
    if not match:
        return None
    return _STATEMENTS["require_filters" if match["on"] else "require_no_filters"]


def names_pgsodium_key(statements: Iterable[ScriptStatement]) -> bool:
    """Return whether a statement names the table of pgsodium's keys or its sequence, in a literal too (pure)."""
    return any(_PGSODIUM.search(statement.text, statement.head) for statement in statements)


def makes_webhooks(statements: Sequence[ScriptStatement]) -> bool:
    """Return whether statements name the function of webhooks, also in dynamic SQL, and do not create pg_net (pure)."""
    texts = [statement.text[statement.head :] for statement in statements]
    return any(map(_WEBHOOK.search, texts)) and not any(map(_PG_NET.search, texts))


async def make_pg_net(connection: asyncpg.Connection) -> bool:
    """Create pg_net as the current role where it is missing; return whether it was created. Raises: the driver's errors."""
    if await connection.fetchval(_STATEMENTS["has_pg_net"]):
        return False
    await connection.execute(_STATEMENTS["make_pg_net"])
    return True


async def make_pgsodium_key(connection: asyncpg.Connection) -> bool:
    """Create the table as the current role where it is missing; return whether it was created. Raises: the driver's errors."""
    if await connection.fetchval(_STATEMENTS["has_pgsodium_key"]):
        return False
    for name in _MAKE_KEY:
        await connection.execute(_STATEMENTS[name])
    return True


@contextlib.asynccontextmanager
async def deletes_allowed(connection: asyncpg.Connection) -> AsyncIterator[None]:
    """Open the guard of the tables of storage for what runs inside, in a transaction; a failed one resets it by itself."""
    await connection.execute(_STATEMENTS["allow_deletes"])
    yield
    if connection.is_in_transaction():
        await connection.execute(_STATEMENTS["reject_deletes"])
