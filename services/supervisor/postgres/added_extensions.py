"""Extensions of the embedded server that come as a package of their own: `headwater-postgis`, which `scripts/postgis-wheel` builds.

The package has modules and the libraries that they need in `lib`, and control files and scripts in `share/extension`. The server looks for them in both
folders (`dynamic_library_path`, `extension_control_path`). Where the server's user cannot reach the package, it is copied once as the server is.
"""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

from services.supervisor.binaries import SHARED, copy_for_all
from services.supervisor.installed_wheels import WheelMissing, version_of
from services.supervisor.postgres.programs import is_embedded
from services.supervisor.postgres.system_user import ServerUser, may_reach

_WHEEL, _PACKAGE = "headwater-postgis", "headwater_postgis"
_READ = os.R_OK


def added_folder(
    programs: Path, user: ServerUser | None, info: Callable[[str], None], shared: Path = SHARED
) -> Path | None:
    """Return the folder of the added extensions as the server's user can read it; None without them, and for a server of the machine's."""
    package = find_package()
    if package is None or not is_embedded(programs):
        return None
    if ":" in str(package):
        info(f"{_WHEEL} is not offered: the server takes no folder whose path has a colon ({package})")
        return None
    if may_reach(user, next((package / "lib").iterdir()), mode=_READ):
        return package
    home = shared / f"{_WHEEL}-{version_of(_WHEEL)}"
    if not home.exists():
        info(f"Copying {_WHEEL} to {home}: user {user.name if user else ''} cannot reach {package}")
        copy_for_all(package, home)
    return home


def find_package() -> Path | None:
    """Return the folder of the installed package, None if it is not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    folder = Path(spec.origin).parent if spec and spec.origin else None
    if folder is None or not (folder / "share" / "extension").is_dir():
        return None
    try:
        version_of(_WHEEL)
    except WheelMissing:
        return None
    return folder


def server_settings(folder: Path) -> dict[str, str]:
    """Return the settings by which the server finds them beside its own."""
    return {"dynamic_library_path": f"$libdir:{folder / 'lib'}"}


def names(folder: Path | None) -> frozenset[str]:
    """Return the names of the added extensions."""
    controls = (folder / "share" / "extension").glob("*.control") if folder else ()
    return frozenset(control.stem for control in controls)
