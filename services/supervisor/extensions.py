"""The extension folder of the embedded server, named to it by `extension_control_path`.

It holds copies of the server's own extensions marked `trusted`, so that role `postgres`, which is no superuser, may
create them, and what the server lacks: the editions in SQL of `schemas/extensions/`, and names and refusals of what cannot be
had (absent_extensions.py). What the server has compiled is never replaced. Source: reference page "platform", section 5.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from services.supervisor.absent_extensions import absent_files, read_absent
from services.supervisor.cluster import Cluster

KEEP_UNTRUSTED = frozenset({
    "amcheck", "file_fdw", "pageinspect", "pg_freespacemap", "pg_logicalinspect", "pg_surgery", "pg_visibility",
})  # fmt: skip
"""Extensions that read the server's files or raw pages: only the superuser creates them."""

_TRUSTED = re.compile(r"^\s*trusted\s*=.*\n?", re.MULTILINE)
_DEFAULT_TRUSTED = re.compile(r"^\s*trusted\s*=\s*'?(true|on|yes|1)", re.MULTILINE | re.IGNORECASE)


def fill_extension_folder(cluster: Cluster) -> None:
    """Fill `<home>/extension` anew and put it in the place of the old one."""
    folder = cluster.extensions / "extension"
    draft = folder.with_name(".extension")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    for name, content in extension_files(cluster.programs.parent / "share" / "extension"):
        path = draft / name
        path.write_bytes(content)
        path.chmod(0o644)
    draft.chmod(0o755)
    with contextlib.suppress(FileNotFoundError):
        folder.rename(folder.with_name(".extension-old"))
    draft.rename(folder)
    shutil.rmtree(folder.with_name(".extension-old"), ignore_errors=True)


def extension_files(server: Path) -> Iterator[tuple[str, bytes]]:
    """Give name and content of every file: the server's own extensions made trusted, then ours that it lacks."""
    compiled = {control.stem for control in server.glob("*.control")}
    for control in sorted(server.glob("*.control")):
        text = control.read_text()
        if control.stem in KEEP_UNTRUSTED or _DEFAULT_TRUSTED.search(text):
            continue
        yield control.name, trusted(text).encode()
        for script in sorted(server.glob(f"{control.stem}--*.sql")):
            yield script.name, script.read_bytes()
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
