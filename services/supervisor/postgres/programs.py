"""Which programs serve a platform's database: those of the wheel, or the machine's own Postgres that `db.bin` names.

The choice is written into the file `programs` of the data folder, so that commands which do not read the settings (branches, the shadow
server of `db diff`) run the same server. A folder without the file uses the wheel.
"""

import functools
import re
import subprocess
from pathlib import Path

from services.supervisor.binaries import find_postgres, postgres_version
from services.supervisor.data_folder.folder import DataFolder, write_private
from services.supervisor.errors import StartRefused

FILE = "programs"
OLDEST, NEWEST = 15, 18
EMBEDDED = "embedded"
"""The setting that takes the programs of the wheel again."""
_NEEDED = ("postgres", "initdb")
_VERSION = re.compile(r"\b(\d{1,4})(\.\d{1,4})?")
_TIMEOUT_S = 20


def chosen_programs(folder: DataFolder) -> Path | None:
    """Return the folder of the machine's own Postgres that serves this platform; None for the wheel."""
    try:
        return Path((folder.path / FILE).read_text(encoding="utf-8").strip())
    except OSError:
        return None


def choose_programs(folder: DataFolder, named: str) -> None:
    """Write down which programs serve this platform; `named` is the setting, empty for those of the last start. Raises: StartRefused."""
    if named == EMBEDDED:
        (folder.path / FILE).unlink(missing_ok=True)
        return
    named = named or str(chosen_programs(folder) or "")
    if not named:
        return
    write_private(folder.path / FILE, f"{check_programs(named, '--postgres (db.bin)')}\n".encode())


def check_programs(named: str, option: str) -> Path:
    """Return a folder of programs of Postgres that can be run here; `option` appears in error texts. Raises: StartRefused."""
    programs = Path(named).expanduser().absolute()
    if missing := [name for name in _NEEDED if not (programs / name).is_file()]:
        raise StartRefused(
            f"{programs} is no folder of Postgres' programs: it lacks {', '.join(missing)}. Name one such as "
            f"/usr/lib/postgresql/17/bin with {option}."
        )
    if not OLDEST <= (major := major_version(programs)) <= NEWEST:
        raise StartRefused(
            f"{programs} is Postgres {major}; {OLDEST} to {NEWEST} can be run. Name another with {option}."
        )
    return programs


@functools.cache
def version_text(programs: Path) -> str:
    """Return the version of a server's programs, such as 18.6. Raises: StartRefused if they do not run here."""
    if is_embedded(programs):
        return postgres_version()
    match = _VERSION.search(_output(programs, "postgres", "--version"))
    if match is None:
        raise StartRefused(
            f"{programs / 'postgres'} does not tell its version. Name another with --postgres (db.bin)."
        )
    return match[0]


def major_version(programs: Path) -> int:
    """Return the major version of a server's programs. Raises: StartRefused."""
    return int(version_text(programs).partition(".")[0])


@functools.cache
def extension_files_folder(programs: Path) -> Path:
    """Return the folder of the server's own extensions. Raises: StartRefused."""
    share = programs.parent / "share"
    beside = [
        folder for folder in (share / "extension", share / "postgresql" / "extension") if folder.is_dir()
    ]
    return beside[0] if beside else Path(_output(programs, "pg_config", "--sharedir"), "extension")


def is_embedded(programs: Path) -> bool:
    """Return whether these are the programs of the wheel, or their copy for another user."""
    return programs.parts[-3:-1] == find_postgres().parts[-3:-1]


def _output(programs: Path, program: str, word: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own Postgres
            [programs / program, word], capture_output=True, text=True, check=True, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise StartRefused(f"{programs / program} does not run on this machine: {error}.") from None
    return done.stdout.strip()
