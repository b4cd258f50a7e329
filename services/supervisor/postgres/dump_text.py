"""Options of pg_dump for a project's database, and how its output is changed to fit another project (pure).

A dump of the schema becomes a migration of another project: objects that every platform has (its schemas, event triggers,
publications) are left out, and objects that may exist are created only where they are missing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from schemas.platform_names import LOGIN_PREFIXES, PLATFORM_ROLES, PLATFORM_SCHEMAS

WITH_DATA = ("auth", "storage")
"""Platform schemas whose rows belong to the project."""
_NO_DATA = (
    "auth.audit_log_entries", "auth.attempts*", "auth.flow_state", "auth.instances", "auth.mfa_challenges",
    "auth.one_time_tokens", "auth.outbox*", "auth.rate_limits", "auth.saml_assertions", "auth.saml_relay_states",
    "auth.schema_migrations", "auth.web3_nonces", "auth.webauthn_challenges", "storage.emptyings",
    "storage.events_outbox", "storage.migrations", "storage.s3_multipart_uploads*", "storage.tombstones",
    "storage.tus_uploads", "storage.usage*",
)  # fmt: skip
"""Tables for the platform's temporary data and counters."""
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
    r'|CREATE TRIGGER "headwater_(history|cause)"|ALTER TABLE [^;]* TRIGGER "headwater_(history|cause)"'
    r"|SET transaction_timeout)"
)
_TARGET = re.compile(r'^(?:CREATE|ALTER|COMMENT ON) ROLE "?([^";\s]+)"?|^GRANT "?([^"\s]+)"? TO "?([^"\s;]+)')
_OPTIONS = ("--quote-all-identifiers", "--no-password")


def schema_options(schemas: Sequence[str]) -> list[str]:
    """Return pg_dump's options for the definitions of schemas; without names: all but the platform's."""
    chosen = _schema_options(schemas, PLATFORM_SCHEMAS)
    return ["--schema-only", *_OPTIONS, *chosen]


def data_options(schemas: Sequence[str], excluded: Sequence[str], *, use_copy: bool) -> list[str]:
    """Return pg_dump's options for rows; without names: the project's, including users and objects."""
    chosen = _schema_options(schemas, [name for name in PLATFORM_SCHEMAS if name not in WITH_DATA])
    left_out = [f"--exclude-table={name}" for name in (*_NO_DATA, *excluded)]
    form = [] if use_copy else ["--column-inserts", "--rows-per-insert=1000"]
    return ["--data-only", *_OPTIONS, *chosen, *left_out, *form]


def role_options() -> list[str]:
    """Return pg_dumpall's options for roles without their passwords."""
    return ["--roles-only", "--no-role-passwords", *_OPTIONS]


def schema_text(lines: Iterable[str]) -> Iterator[str]:
    """Change the lines of a dump of definitions to fit another project."""
    skipping = False
    for line in _without_guards(lines):
        if skipping or _LEFT_OUT.match(line):
            skipping = not line.rstrip().endswith(";")
            continue
        for pattern, text in _REWRITTEN:
            line = pattern.sub(text, line)
        yield line


def data_text(lines: Iterable[str]) -> Iterator[str]:
    """Change the lines of a dump of rows to fit a seed: triggers and foreign keys are off while it runs."""
    yield "SET session_replication_role = replica;\n"
    yield from (line for line in _without_guards(lines) if not line.startswith("SET transaction_timeout"))
    yield "RESET ALL;\n"


def role_text(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines about the project's roles, without the platform's."""
    for line in _without_guards(lines):
        match = _TARGET.match(line)
        if match is None:
            continue
        role = match[1] or match[3]
        if role.startswith(LOGIN_PREFIXES):
            continue
        if line.startswith("ALTER ROLE") and " SET " in line:
            if role not in PLATFORM_ROLES:
                yield line
        elif role not in PLATFORM_ROLES and (match[2] or "") != "supabase_admin":
            yield line


def _without_guards(lines: Iterable[str]) -> Iterator[str]:
    """Leave out psql's commands `\\restrict` and `\\unrestrict`, which guard a dump."""
    return (line for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


def _schema_options(schemas: Sequence[str], left_out: Iterable[str]) -> list[str]:
    if schemas:
        return [f"--schema={_quoted(name)}" for name in schemas]
    return [f"--exclude-schema={_quoted(name)}" for name in left_out]


def _quoted(name: str) -> str:
    """Quote a name so that pg_dump does not read it as a pattern."""
    return '"' + name.replace('"', '""') + '"'
