"""A name server of the attacker's, and a platform whose machine asks it: names whose address changes between two questions.

Port 53 and a `resolv.conf` of its own take root: the platform is started in a mount namespace of its own.
"""

import contextlib
import os
import socket
import struct
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.platform import Platform, platform

_ADDRESS = ("127.0.0.77", 53)
_A, _AAAA = 1, 28
_HEADER_BYTES = 12
_USE = 'mount --bind "$1" /etc/resolv.conf; shift; exec "$@"'

Rule = Callable[[str, int], list[str]]
"""Addresses for the n-th question (from 1) about a name."""


@dataclass(slots=True)
class NameServer:
    """What was asked: the number of questions of each name and type."""

    questions: Counter[str] = field(default_factory=Counter)

    def answer(self, query: bytes, rule: Rule) -> bytes:
        """Return the answer to a query, with a time to live of zero (RFC 1035, section 4)."""
        name, at = _name_at(query, _HEADER_BYTES)
        (kind,) = struct.unpack_from("!H", query, at)
        end = at + 4
        self.questions[f"{name} {kind}"] += 1
        addresses = rule(name, self.questions[f"{name} {kind}"]) if kind in (_A, _AAAA) else []
        records = [_record(each) for each in addresses if (":" in each) == (kind == _AAAA)]
        head = query[:2] + struct.pack("!5H", 0x8180, 1, len(records), 0, 0)
        return head + query[_HEADER_BYTES:end] + b"".join(records)


@contextlib.contextmanager
def name_server(rule: Rule) -> Iterator[NameServer]:
    """Answer questions by a rule until the end."""
    server = NameServer()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(_ADDRESS)

        def serve() -> None:
            while True:
                query, sender = listening.recvfrom(4096)
                if sender == _ADDRESS:
                    return
                listening.sendto(server.answer(query, rule), sender)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.sendto(b"", _ADDRESS)
            thread.join(5)


@contextlib.contextmanager
def platform_with_resolver(*arguments: str) -> Iterator[Platform]:
    """Start a platform that resolves names by the attacker's server."""
    with tempfile.TemporaryDirectory(prefix="headwater-resolver-") as folder:
        os.chmod(folder, 0o755)
        file = Path(folder) / "resolv.conf"
        file.write_text(f"nameserver {_ADDRESS[0]}\noptions timeout:2 attempts:2\n")
        file.chmod(0o644)
        prefix = ("unshare", "--mount", "--propagation", "private", "sh", "-c", _USE, "sh", str(file))
        with platform(*arguments, prefix=prefix) as running:
            yield running


def _name_at(query: bytes, at: int) -> tuple[str, int]:
    labels: list[str] = []
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace").lower())
        at += 1 + query[at]
    return ".".join(labels), at + 1


def _record(address: str) -> bytes:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    return b"\xc0\x0c" + struct.pack("!HHIH", _AAAA if ":" in address else _A, 1, 0, len(packed)) + packed
