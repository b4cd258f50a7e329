"""A place-holder for the functions worker: while a project has no functions, this waits for the first one.

    python -P -m workers.functions.waiting FOLDER

It loads nothing but the standard library, so it takes a fourth of the worker's memory. When the folder holds a function
it becomes the worker (`exec`): same process, same supervisor. One that is ready at once says so for the worker's sake:
a platform without functions is ready.
"""

import os
import re
import signal
import sys
import time

EVERY_S = 0.5
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_ENTRYPOINTS = ("index.ts", "index.js", "index.mjs", "index.jsx", "index.tsx")
_READY_FD = "HEADWATER_READY_FD"


def has_function(folder: str) -> bool:
    """Tell whether a folder of functions holds one."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(
        _NAME.fullmatch(name)
        and any(os.path.isfile(os.path.join(folder, name, each)) for each in _ENTRYPOINTS)
        for name in names
    )


def main() -> int:
    """Wait, then become the worker."""
    folder = sys.argv[1]
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    parent = os.getppid()
    if not has_function(folder):
        _tell_ready()
    while not has_function(folder):
        time.sleep(EVERY_S)
        if os.getppid() != parent:  # the supervisor is gone
            return 0
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "workers", "functions"])  # noqa: S606 - ourselves


def _tell_ready() -> None:
    number = os.environ.pop(_READY_FD, "")
    if number.isdigit():
        try:
            os.write(int(number), b"ready\n")
        except BrokenPipeError:
            sys.exit(0)
        finally:
            os.close(int(number))


if __name__ == "__main__":
    sys.exit(main())
