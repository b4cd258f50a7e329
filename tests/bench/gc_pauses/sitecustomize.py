"""Write the pauses of the garbage collector into a file: of a process, and of all that are forked from it.

Python imports this module at its start where the folder is in PYTHONPATH. A line is `process generation start end`, times in
nanoseconds of the monotonic clock. The variable's name begins with PYTHON, so that a fork server gets it too.
"""

import gc
import os
import time

VARIABLE = "PYTHONGCPAUSES"


def _note_pauses(path: str) -> None:
    began = 0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.perf_counter_ns()
            return
        line = f"{os.getpid()} {info['generation']} {began} {time.perf_counter_ns()}\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(descriptor, line.encode())  # one write of a short line: lines of processes do not mix
        os.close(descriptor)

    gc.callbacks.append(note)


if VARIABLE in os.environ:
    _note_pauses(os.environ[VARIABLE])
