"""The extension folder of the embedded server, named to it by `extension_control_path`.

It holds copies of some of the server's own extensions marked `trusted`, so that role `postgres`, which is no superuser, may
create them, and what the server lacks: the editions in SQL of `schemas/extensions/`, and names and refusals of what cannot be
had (absent_extensions.py). What the server has compiled is never replaced. Source: reference page "platform", section 5.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from services.supervisor.postgres.absent_extensions import absent_files, read_absent
from services.supervisor.postgres.cluster import Cluster

MADE_TRUSTED = frozenset({
    "autoinc", "bloom", "dblink", "dict_xsyn", "earthdistance", "insert_username", "intagg", "moddatetime",
    "pg_buffercache", "pg_prewarm", "pg_stat_statements", "pgcrypto", "pgrowlocks", "pgstattuple", "postgres_fdw", "refint",
    "tcn", "uuid-ossp", "vector",
})  # fmt: skip
"""The server's own extensions that role postgres may create though the server does not say so itself.

A trusted script runs as the superuser, and what it makes belongs to the superuser. So this is a list of those that were
looked at, not of exceptions: their scripts only define (no statement of theirs runs what a schema of the caller's could
hold; tests/schemas/extensions/test_scripts.py), no function of theirs runs with its owner's rights, and none reads files, raw
pages or the log. What a server has beyond it (PL/Python, file_fdw, pg_walinspect...) stays the superuser's.
"""

_ITS_OWN_RIGHTS = """

-- Of headwater: what the script took from everybody, default privileges of the schema gave to the roles of the API again.
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


def fill_extension_folder(cluster: Cluster) -> None:
    """Fill `<home>/extension` anew and put it in the place of the old one.

    A start that was killed may have left the draft or the old one, which must be gone: no folder is renamed to one with files.
    """
    folder = cluster.extensions / "extension"
    draft, old = folder.with_name(".extension"), folder.with_name(".extension-old")
    for left in (draft, old):
        shutil.rmtree(left, ignore_errors=True)
    draft.mkdir()
    for name, content in extension_files(cluster.programs.parent / "share" / "extension"):
        path = draft / name
        path.write_bytes(content)
        path.chmod(0o644)
    draft.chmod(0o755)
    with contextlib.suppress(FileNotFoundError):
        folder.rename(old)
    draft.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def extension_files(server: Path) -> Iterator[tuple[str, bytes]]:
    """Give name and content of every file: the server's own extensions made trusted, then ours that it lacks."""
    compiled = {control.stem for control in server.glob("*.control")}
    for control in sorted(server.glob("*.control")):
        text = control.read_text()
        if control.stem not in MADE_TRUSTED or _DEFAULT_TRUSTED.search(text):
            continue
        yield control.name, trusted(text).encode()
        for script in sorted(server.glob(f"{control.stem}--*.sql")):
            yield script.name, script.read_bytes() + _ITS_OWN_RIGHTS.format(control.stem).encode()
    for name, content in sorted({**_own_files(), **_absent_files()}.items()):
        if name.removesuffix(".control").partition("--")[0] not in compiled:
            yield name, content


def _own_files() -> dict[str, bytes]:
    folder = resources.files("schemas").joinpath("extensions")
    return {
        entry.name: entry.read_bytes()
        for entry in folder.iterdir()
        if entry.name.endswith((".control", ".sql"))
    }


def _absent_files() -> dict[str, bytes]:
    return {name: text.encode() for name, text in absent_files(read_absent())}


def trusted(control: str) -> str:
    """Give the text of a control file with `trusted = true`."""
    return f"{_TRUSTED.sub('', control).rstrip()}\ntrusted = true\n"
