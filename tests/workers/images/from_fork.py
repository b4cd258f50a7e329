"""Values that libvips makes while tests are collected, made in a process of their own."""

import os
import pickle
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def from_fork(make: Callable[[], Value]) -> Value:
    """Return what a function returns in a fork of this process.

    libvips starts threads when it computes. A run forks after it has collected the tests (tests/run), and a fork has no
    threads but its own: the next image would wait for ever.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as file:
            pickle.dump(make(), file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    assert os.waitpid(pid, 0)[1] == 0, "the process that makes images failed"
    value: Value = pickle.loads(data)
    return value
