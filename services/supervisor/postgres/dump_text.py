"""What a dump of a project's database consists of, and how the text of Postgres' tool is made fit for a project (pure).

A dump of the schema becomes a migration of another project: what every platform has already (its schemas, its event
triggers, its publications) is left out, and what may be there is made only where it is missing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from schemas.platform_names import LOGIN_PREFIXES, PLATFORM_ROLES, PLATFORM_SCHEMAS

WITH_DATA = ("auth", "storage")
"""Those of them whose rows are the project's."""
_NO_DATA = (
    "auth.audit_log_entries", "auth.attempts*", "auth.flow_state", "auth.instances", "auth.mfa_challenges",
    "auth.one_time_tokens", "auth.outbox*", "auth.rate_limits", "auth.saml_assertions", "auth.saml_relay_states",
    "auth.schema_migrations", "auth.web3_nonces", "auth.webauthn_challenges", "storage.emptyings",
    "storage.events_outbox", "storage.migrations", "storage.s3_multipart_uploads*", "storage.tombstones",
    "storage.tus_uploads", "storage.usage*",
)  # fmt: skip
"""Tables in which the platform keeps what passes, or counts itself."""
_REWRITTEN = (
    (re.compile(r'^CREATE SCHEMA "'), 'CREATE SCHEMA IF NOT EXISTS "'),
    (re.compile(r'^CREATE TABLE "'), 'CREATE TABLE IF NOT EXISTS "'),
    (re.compile(r'^CREATE SEQUENCE "'), 'CREATE SEQUENCE IF NOT EXISTS "'),
    (re.compile(r'^CREATE VIEW "'), 'CREATE OR REPLACE VIEW "'),
    (re.compile(r'^CREATE FUNCTION "'), 'CREATE OR REPLACE FUNCTION "'),
)
_LEFT_OUT = re.compile(
    r"^(CREATE EVENT TRIGGER|ALTER EVENT TRIGGER|COMMENT ON EVENT TRIGGER"
    r'|(CREATE|ALTER|COMMENT ON) PUBLICATION ("supabase_realtime_[^"]*"|"supabase_realtime"(?! ADD ))'
    r'|ALTER DEFAULT PRIVILEGES FOR ROLE "supabase_admin"|COMMENT ON SCHEMA "public"|ALTER SCHEMA "public"'
    r"|SET transaction_timeout)"
)
_TARGET = re.compile(r'^(?:CREATE|ALTER|COMMENT ON) ROLE "?([^";\s]+)"?|^GRANT "?([^"\s]+)"? TO "?([^"\s;]+)')
_OPTIONS = ("--quote-all-identifiers", "--no-password")


def schema_options(schemas: Sequence[str]) -> list[str]:
    """Give pg_dump's options for the definitions of schemas; none named: all but the platform's."""
    chosen = _chosen(schemas, PLATFORM_SCHEMAS)
    return ["--schema-only", *_OPTIONS, *chosen]


def data_options(schemas: Sequence[str], excluded: Sequence[str], *, use_copy: bool) -> list[str]:
    """Give pg_dump's options for rows; no schema named: the project's, users and objects included."""
    chosen = _chosen(schemas, [name for name in PLATFORM_SCHEMAS if name not in WITH_DATA])
    left_out = [f"--exclude-table={name}" for name in (*_NO_DATA, *excluded)]
    form = [] if use_copy else ["--column-inserts", "--rows-per-insert=1000"]
    return ["--data-only", *_OPTIONS, *chosen, *left_out, *form]


def role_options() -> list[str]:
    """Give pg_dumpall's options for roles without their passwords."""
    return ["--roles-only", "--no-role-passwords", *_OPTIONS]


def schema_text(lines: Iterable[str]) -> Iterator[str]:
    """Make the lines of a dump of definitions fit for a project."""
    skipping = False
    for line in _own(lines):
        if skipping or _LEFT_OUT.match(line):
            skipping = not line.rstrip().endswith(";")
            continue
        for pattern, text in _REWRITTEN:
            line = pattern.sub(text, line)
        yield line


def data_text(lines: Iterable[str]) -> Iterator[str]:
    """Make the lines of a dump of rows fit for a seed: triggers and foreign keys keep still while it runs."""
    yield "SET session_replication_role = replica;\n"
    yield from (line for line in _own(lines) if not line.startswith("SET transaction_timeout"))
    yield "RESET ALL;\n"


def role_text(lines: Iterable[str]) -> Iterator[str]:
    """Keep the roles of the project: those that no platform has."""
    for line in _own(lines):
        found = _TARGET.match(line)
        if found is None:
            continue
        named = found[1] or found[3]
        if named.startswith(LOGIN_PREFIXES):
            continue
        if line.startswith("ALTER ROLE") and " SET " in line:
            if named not in PLATFORM_ROLES:
                yield line
        elif named not in PLATFORM_ROLES and (found[2] or "") != "supabase_admin":
            yield line


def _own(lines: Iterable[str]) -> Iterator[str]:
    """Leave out the commands that guard a dump in psql."""
    return (line for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


def _chosen(schemas: Sequence[str], left_out: Iterable[str]) -> list[str]:
    if schemas:
        return [f"--schema={_exactly(name)}" for name in schemas]
    return [f"--exclude-schema={_exactly(name)}" for name in left_out]


def _exactly(name: str) -> str:
    """Spell a name so that it is no pattern."""
    return '"' + name.replace('"', '""') + '"'
