"""What settings decide about the database, compared at every start: passwords, JWT settings, exposure of new tables.

Passwords reach the server as SCRAM verifiers only, so no log of the server can hold one.
Source: PostgreSQL, "SASL Authentication"; RFC 5802, 7677.
"""

import base64
import hashlib
import hmac
import secrets

import asyncpg

from schemas.secret import Secret
from schemas.settings import Settings
from workers.sql.compose import quoted

_ITERATIONS = 4096
_OWN_PASSWORD = (
    "postgres",
    "supabase_auth_admin",
    "supabase_storage_admin",
    "supabase_functions_admin",
    "pgbouncer",
)
_API_ROLES = "anon, authenticated, service_role"
_EXPOSED = """
select exists (
  select from pg_catalog.pg_default_acl as acl, pg_catalog.aclexplode(acl.defaclacl) as granted
  where acl.defaclnamespace = 'public'::pg_catalog.regnamespace and acl.defaclobjtype = 'r'
    and acl.defaclrole = 'postgres'::pg_catalog.regrole and granted.grantee = 'anon'::pg_catalog.regrole
)
"""


async def assert_settings(connection: asyncpg.Connection, settings: Settings) -> None:
    """Make the database agree with the settings. Raises: asyncpg.PostgresError."""
    await _assert_passwords(connection, settings)
    await _assert_jwt(connection, settings)
    exposed = await connection.fetchval(_EXPOSED)
    if exposed != settings.api.auto_expose_new_tables:
        verb, word = ("grant", "to") if settings.api.auto_expose_new_tables else ("revoke", "from")
        for maker in ("postgres", "supabase_admin"):
            for kind in ("tables", "functions", "sequences"):
                await connection.execute(
                    f"alter default privileges for role {maker} in schema public {verb} all on {kind} {word} {_API_ROLES}"
                )


async def _assert_passwords(connection: asyncpg.Connection, settings: Settings) -> None:
    db = settings.db
    wanted: dict[str, Secret] = dict.fromkeys(_OWN_PASSWORD, db.password)
    wanted[db.authenticator] = db.authenticator_password or db.password
    current = await connection.fetchval("select current_user")
    wanted.pop(current, None)
    rows = await connection.fetch(
        "select rolname, rolpassword from pg_catalog.pg_authid where rolname = any($1)", list(wanted)
    )
    for row in rows:
        password = wanted[row["rolname"]].reveal()
        if not matches(row["rolpassword"], password):
            await connection.execute(f"alter role {quoted(row['rolname'])} password '{verifier(password)}'")


async def _assert_jwt(connection: asyncpg.Connection, settings: Settings) -> None:
    """Keep `app.settings.jwt_secret` and `jwt_exp` of the database as the settings say."""
    wanted = {
        "app.settings.jwt_secret": settings.auth.jwt_secret.reveal(),
        "app.settings.jwt_exp": str(settings.auth.jwt_expiry),
    }
    rows = await connection.fetchval(
        """
        select setconfig from pg_catalog.pg_db_role_setting
        where setrole = 0 and setdatabase = (select oid from pg_catalog.pg_database where datname = current_database())
        """
    )
    found = dict(entry.split("=", 1) for entry in rows or [])
    name = await connection.fetchval("select current_database()")
    for key, value in wanted.items():
        if found.get(key) != value:
            literal = "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
            escaped = f"E{literal}" if "\\" in value else literal
            await connection.execute(f"alter database {quoted(name)} set {quoted(key)} = {escaped}")


def verifier(password: str, salt: bytes | None = None, iterations: int = _ITERATIONS) -> str:
    """Make what Postgres stores for a password: `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`."""
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    coded = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{coded[0]}${coded[1]}:{coded[2]}"


def matches(stored: str | None, password: str) -> bool:
    """Tell whether a stored verifier is of this password."""
    if stored is None or not stored.startswith("SCRAM-SHA-256$"):
        return False
    _, front, _ = stored.split("$")
    iterations, _, salt = front.partition(":")
    return hmac.compare_digest(stored, verifier(password, base64.b64decode(salt), int(iterations)))
