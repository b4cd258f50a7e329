"""The wall of loopback, tried by a process in a group that has it: every address form, by each call that reaches an address."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from broker.processes.control_groups import Delegation, find_plain_delegation
from workers.functions.sandbox.control_groups import ControlGroup, ControlGroups
from workers.functions.sandbox.loopback_wall import LoopbackWall, open_wall

_FAST_OPEN = 0x20000000
LOCAL = [
    (socket.AF_INET, "127.0.0.1"),
    (socket.AF_INET, "127.8.9.1"),
    (socket.AF_INET, "0.0.0.0"),
    (socket.AF_INET6, "::1"),
    (socket.AF_INET6, "::"),
    (socket.AF_INET6, "::ffff:127.0.0.1"),
    (socket.AF_INET6, "::ffff:0.0.0.0"),
]
ELSEWHERE = [
    (socket.AF_INET, "198.51.100.1"),
    (socket.AF_INET6, "::ffff:198.51.100.1"),
    (socket.AF_INET6, "2001:db8::1"),
]
DELEGATION, WALL = find_plain_delegation(), open_wall()

pytestmark = pytest.mark.skipif(
    isinstance(DELEGATION, str) or isinstance(WALL, str), reason=f"no wall here: {DELEGATION} {WALL}"
)


@pytest.fixture
def group() -> Iterator[ControlGroup]:
    assert isinstance(DELEGATION, Delegation)
    made = ControlGroups(DELEGATION.folder, ()).create("wall", memory_mb=64, threads=8)
    try:
        yield made
    finally:
        assert made.remove()


def in_group(group: ControlGroup, tries: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Return what a process in the group reports."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            group.enter()
            os.write(write, json.dumps(tries()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        text = told.read()
    os.waitpid(child, 0)
    reported: dict[str, str] = json.loads(text)
    return reported


def attempts(family: int, host: str, port: int) -> Iterator[tuple[str, str]]:
    """Yield each way to an address with the error that it had, or `allowed`."""
    place = (host, port)
    ways: dict[str, tuple[int, Callable[[socket.socket], object]]] = {
        "connect": (socket.SOCK_STREAM, lambda one: one.connect(place)),
        "fast open": (socket.SOCK_STREAM, lambda one: one.sendto(b"x", _FAST_OPEN, place)),
        "datagram": (socket.SOCK_DGRAM, lambda one: one.sendto(b"x", place)),
        "connected datagram": (socket.SOCK_DGRAM, lambda one: one.connect(place)),
        "message": (socket.SOCK_DGRAM, lambda one: one.sendmsg([b"x"], [], 0, place)),
    }
    for way, (kind, reach) in ways.items():
        with socket.socket(family, kind) as one:
            one.setblocking(False)
            try:
                reach(one)
            except PermissionError:
                yield way, "denied"
            except OSError:  # refused, unreachable, under way: the wall let it pass
                yield way, "allowed"
            else:
                yield way, "allowed"


def test_a_group_reaches_the_listed_ports_of_loopback_and_every_other_address(group: ControlGroup) -> None:
    assert isinstance(WALL, LoopbackWall)
    with ExitStack() as stack:
        opened, closed = (stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2))
        own, others = opened.getsockname()[1], closed.getsockname()[1]
        WALL.attach(group.folder, frozenset({own, 53}))

        def tries() -> dict[str, str]:
            table = [(place, port) for place in LOCAL for port in (own, others)]
            table += [(place, others) for place in ELSEWHERE]
            return {
                f"{host} {'own' if port == own else 'other'} {way}": result
                for (family, host), port in table
                for way, result in attempts(family, host, port)
            }

        reported = in_group(group, tries)

    local = {host for _, host in LOCAL}
    expected = {
        name: "denied" if name.split()[0] in local and name.split()[1] == "other" else "allowed"
        for name in reported
    }
    assert len(reported) == (2 * len(LOCAL) + len(ELSEWHERE)) * 5
    assert reported == expected
