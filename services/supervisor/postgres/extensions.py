"""The extension folder of the embedded server, which `extension_control_path` names.

It contains copies of some of the server's own extensions marked `trusted`, so that role `postgres`, which is not a superuser, may
create them, and what the server lacks: the SQL editions of `schemas/extensions/`, and files for extensions that cannot be
provided (absent_extensions.py). An extension that the server has compiled is never replaced. Source: docs/reference/platform.md,
section 5.
"""

import contextlib
import re
import shutil
from collections.abc import Collection, Iterator
from importlib import resources
from pathlib import Path

from services.supervisor.postgres.absent_extensions import absent_files, read_absent
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.programs import extension_files_folder

MADE_TRUSTED = frozenset({
    "autoinc", "bloom", "dblink", "dict_xsyn", "earthdistance", "insert_username", "intagg", "moddatetime",
    "pg_buffercache", "pg_prewarm", "pg_stat_statements", "pgcrypto", "pgrowlocks", "pgstattuple", "postgres_fdw", "refint",
    "tcn", "uuid-ossp", "vector",
})  # fmt: skip
"""The server's own extensions that role postgres may create although the server does not mark them trusted.

A trusted script runs as the superuser, and its objects belong to the superuser. So this is a list of extensions that were
reviewed: their scripts only define (no statement runs what a schema of the caller's could contain;
tests/schemas/extensions/test_scripts.py), none of their functions runs with its owner's rights, and none reads files, raw
pages or the log. The server's other extensions (PL/Python, file_fdw, pg_walinspect...) remain the superuser's.
"""

_REVOKE_DEFAULT_GRANTS = """

-- Of headwater: rights that the script revoked from public were granted to the API's roles again by the schema's default privileges.
set local search_path = pg_catalog, pg_temp;
do $headwater$
declare
  given record;
begin
  for given in
    select made.oid::regprocedure as function, access.grantee::regrole as role
    from pg_depend as part
    join pg_proc as made on part.classid = 'pg_proc'::regclass and made.oid = part.objid,
    aclexplode(made.proacl) as access
    where part.deptype = 'e' and part.refclassid = 'pg_extension'::regclass
      and part.refobjid = (select oid from pg_extension where extname = '{}')
      and access.grantee not in (0, made.proowner)
      and access.grantee::regrole::text !~ '^pg_'
      and not exists (select from aclexplode(made.proacl) as everybody where everybody.grantee = 0)
  loop
    execute format('revoke all on function %s from %s', given.function, given.role);
  end loop;
end
$headwater$;
"""

_TRUSTED = re.compile(r"^\s*trusted\s*=.*\n?", re.MULTILINE)
_DEFAULT_TRUSTED = re.compile(r"^\s*trusted\s*=\s*'?(true|on|yes|1)", re.MULTILINE | re.IGNORECASE)


def fill_extension_folder(cluster: Cluster, added: Collection[str] = ()) -> None:
    """Write a new `<home>/extension` and replace the old one. `added` are names that an added package has.

    A killed start may have left the draft or the old folder. Both are removed first: no folder is renamed to one with files.
    """
    folder = cluster.extensions / "extension"
    draft, old = folder.with_name(".extension"), folder.with_name(".extension-old")
    for left in (draft, old):
        shutil.rmtree(left, ignore_errors=True)
    draft.mkdir()
    for name, content in extension_files(extension_files_folder(cluster.programs), added):
        path = draft / name
        path.write_bytes(content)
        path.chmod(0o644)
    draft.chmod(0o755)
    with contextlib.suppress(FileNotFoundError):
        folder.rename(old)
    draft.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def extension_files(server: Path, added: Collection[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file: the server's extensions made trusted, then ours that neither it nor an added package has."""
    compiled = {control.stem for control in server.glob("*.control")} | set(added)
    for control in sorted(server.glob("*.control")):
        text = control.read_text()
        if control.stem not in MADE_TRUSTED or _DEFAULT_TRUSTED.search(text):
            continue
        yield control.name, trusted(text).encode()
        for script in sorted(server.glob(f"{control.stem}--*.sql")):
            yield script.name, script.read_bytes() + _REVOKE_DEFAULT_GRANTS.format(control.stem).encode()
    for name, content in sorted({**_sql_editions(), **_absent_files()}.items()):
        if name.removesuffix(".control").partition("--")[0] not in compiled:
            yield name, content


def _sql_editions() -> dict[str, bytes]:
    folder = resources.files("schemas").joinpath("extensions")
    return {
        entry.name: entry.read_bytes()
        for entry in folder.iterdir()
        if entry.name.endswith((".control", ".sql"))
    }


def _absent_files() -> dict[str, bytes]:
    return {name: text.encode() for name, text in absent_files(read_absent())}


def trusted(control: str) -> str:
    """Return the text of a control file with `trusted = true`."""
    return f"{_TRUSTED.sub('', control).rstrip()}\ntrusted = true\n"
