"""A platform that an ordinary user started: the tests may run as root, whose walls are others.

A Python that lies in a folder of root's is shown to that user in a mount namespace of its own.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.platform import Platform, platform

_NOBODY = 65534
_SHOW = """
set -e
stage=$1 hidden=$2 inner=$3; shift 3
if [ -n "$hidden" ]; then
    mkdir -p "$stage/${inner#$hidden/}"
    mount --bind "$inner" "$stage/${inner#$hidden/}"
    mount --rbind "$stage" "$hidden"
fi
exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
"""


@contextlib.contextmanager
def platform_of_ordinary_user(*arguments: str) -> Iterator[Platform]:
    """Start a platform as a user without rights, give it, stop it."""
    if os.geteuid() != 0:
        with platform(*arguments) as running:
            yield running
        return
    stage = Path(tempfile.mkdtemp(prefix="headwater-stage-"))
    stage.chmod(0o755)
    inner = Path(sys.base_prefix).resolve()
    hidden = next((each for each in reversed(inner.parents) if not each.stat().st_mode & 1), "")
    prefix = (
        "unshare", "--mount", "--propagation", "private", "sh", "-c", _SHOW, "sh", str(stage), str(hidden), str(inner),
    )  # fmt: skip
    try:
        with platform(*arguments, prefix=prefix, owner=_NOBODY) as running:
            yield running
    finally:
        shutil.rmtree(stage, ignore_errors=True)
