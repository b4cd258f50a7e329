"""Machines of a network of our own: network namespaces behind a router, in which packets vanish, links go dead, slow or lossy.

The router is a namespace, too: it drops what it should pass on, so that no sender gets an error, which rules on the sender's own
machine give it. A pulled cable is the other kind: the kernel answers "no route to host" by itself. The test's own namespace is a
machine of that network (`HOME`): Postgres runs there, and the clients. That takes root, iproute2 and iptables; nothing of the
machine's own network is changed but one interface and one route, which go away at the end.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from secrets import randbelow, token_hex

HOME = "home"
_NETWORK = "10.213"
_Rules = list[tuple[str, ...]]


def is_possible() -> bool:
    """Whether this machine lets us make namespaces and rules in them."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "iptables", "tc", "sysctl"))):
        return False
    name = f"headwater-{token_hex(4)}"
    if subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True).returncode:
        return False
    tried = subprocess.run(
        ["ip", "netns", "exec", name, "iptables", "-L", "-n"], check=False, capture_output=True
    )
    _run("ip", "netns", "del", name)
    return tried.returncode == 0


@dataclass
class Network:
    """The machines by name, each with its address, and the router between them."""

    id: str = field(default_factory=lambda: token_hex(2))
    third: int = field(default_factory=lambda: randbelow(250))
    machines: list[str] = field(default_factory=lambda: [HOME])

    def address(self, machine: str) -> str:
        """Return the address of a machine."""
        return f"{_NETWORK}.{self.third}.{4 * self.machines.index(machine) + 2}"

    def prefix(self, machine: str) -> tuple[str, ...]:
        """Return what a command begins with that runs on a machine."""
        return ("ip", "netns", "exec", self._namespace(machine))

    def add(self, machine: str) -> None:
        """Make a machine and connect it."""
        self.machines.append(machine)
        _run("ip", "netns", "add", self._namespace(machine))
        self._connect(machine)

    def make_router(self) -> None:
        """Make the router and connect the test's own namespace."""
        _run("ip", "netns", "add", self._router)
        self._in_router("sysctl", "-w", "net.ipv4.ip_forward=1")
        self._connect(HOME)

    def remove(self) -> None:
        """Take everything away; processes that still run in a namespace keep it until they end."""
        for name in (self._router, *map(self._namespace, self.machines[1:])):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    @contextlib.contextmanager
    def cut(
        self,
        these: tuple[str, ...],
        those: tuple[str, ...],
        *,
        port: int | None = None,
        one_way: bool = False,
    ) -> Iterator[None]:
        """Let packets vanish that these machines send to those, and, unless `one_way`, their answers; of one port of those or of all."""
        rules: _Rules = []
        for this in map(self.address, these):
            for that in map(self.address, those):
                there: tuple[str, ...] = ("-s", this, "-d", that)
                back: tuple[str, ...] = ("-s", that, "-d", this)
                if port is not None:
                    there += ("-p", "tcp", "--dport", str(port))
                    back += ("-p", "tcp", "--sport", str(port))
                rules += [there] if one_way else [there, back]
        with self._dropping(rules):
            yield

    @contextlib.contextmanager
    def lossy(self, machine: str, share: float) -> Iterator[None]:
        """Let a share of the packets to and from a machine vanish, at random."""
        chance = ("-m", "statistic", "--mode", "random", "--probability", str(share))
        address = self.address(machine)
        with self._dropping([("-s", address, *chance), ("-d", address, *chance)]):
            yield

    @contextlib.contextmanager
    def slow(self, machine: str, rate: str) -> Iterator[None]:
        """Let the link to and from a machine carry no more than a rate of `tc`, as `256kbit`."""
        limit = ("root", "tbf", "rate", rate, "burst", "8k", "latency", "2s")
        ends = (("ip", "netns", "exec", self._router), self._link(machine)), (self.prefix(machine), "eth0")
        for prefix, link in ends:
            _run(*prefix, "tc", "qdisc", "add", "dev", link, *limit)
        try:
            yield
        finally:
            for prefix, link in ends:
                _run(*prefix, "tc", "qdisc", "del", "dev", link, "root")

    @contextlib.contextmanager
    def unplugged(self, machine: str) -> Iterator[None]:
        """Pull the cable of a machine: its kernel and the router's know that there is no link."""
        self._in_router("ip", "link", "set", self._link(machine), "down")
        try:
            yield
        finally:
            self._in_router("ip", "link", "set", self._link(machine), "up")

    @contextlib.contextmanager
    def _dropping(self, rules: _Rules) -> Iterator[None]:
        for rule in rules:
            self._in_router("iptables", "-w", "-A", "FORWARD", *rule, "-j", "DROP")
        try:
            yield
        finally:
            for rule in rules:
                self._in_router("iptables", "-w", "-D", "FORWARD", *rule, "-j", "DROP")

    def _connect(self, machine: str) -> None:
        link, address = self._link(machine), self.address(machine)
        router = address.rpartition(".")[0] + "." + str(int(address.rpartition(".")[2]) - 1)
        at_home = machine == HOME
        name = f"{link}h" if at_home else "eth0"
        peer = (
            ("peer", "name", name) if at_home else ("peer", "name", name, "netns", self._namespace(machine))
        )
        _run("ip", "link", "add", link, "type", "veth", *peer)
        _run("ip", "link", "set", link, "netns", self._router)
        self._in_router("ip", "addr", "add", f"{router}/30", "dev", link)
        self._in_router("ip", "link", "set", link, "up")
        inside = () if at_home else self.prefix(machine)
        _run(*inside, "ip", "addr", "add", f"{address}/30", "dev", name)
        _run(*inside, "ip", "link", "set", name, "up")
        if not at_home:
            _run(*inside, "ip", "link", "set", "lo", "up")
        _run(*inside, "ip", "route", "add", f"{_NETWORK}.{self.third}.0/24", "via", router)

    def _namespace(self, machine: str) -> str:
        return f"headwater-{self.id}-{machine}"

    def _link(self, machine: str) -> str:
        return f"hw{self.id}{self.machines.index(machine)}"

    @property
    def _router(self) -> str:
        return f"headwater-{self.id}-router"

    def _in_router(self, *words: str) -> None:
        _run("ip", "netns", "exec", self._router, *words)


@contextlib.contextmanager
def network() -> Iterator[Network]:
    """Make a network without machines."""
    one = Network()
    try:
        one.make_router()
        yield one
    finally:
        one.remove()


def _run(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
