"""npm packages that tests need, as a lock file pins them: installed once, by whichever process of a run comes first."""

import fcntl
import subprocess
from pathlib import Path

_INSTALL_S = 280


def install_packages(folder: Path) -> None:
    """Install the packages of `folder/package-lock.json` unless they are there.

    npm empties `node_modules` before it installs, so two processes at once would take the packages from each other.
    """
    wanted, installed = folder / "package-lock.json", folder / "node_modules" / ".package-lock.json"
    with wanted.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
            return
        done = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_INSTALL_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
