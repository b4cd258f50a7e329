"""A closed-loop HTTP/1.1 load generator on one thread: every connection sends its next request when the last is answered.

One epoll loop with ready-made request bytes, so that it costs little beside what it measures. It counts what was
acknowledged; the benchmark holds that against what is stored.
"""

import select
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """What one run gave: latencies in nanoseconds, answers by status, connections that broke.

    `ends` and `connections` say of each latency when its answer came (`time.perf_counter_ns`) and on which connection.
    """

    seconds: float = 0.0
    latencies: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    connections: list[int] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0

    @property
    def good(self) -> int:
        return sum(count for status, count in self.statuses.items() if 200 <= status < 300)

    @property
    def errors(self) -> int:
        return sum(self.statuses.values()) - self.good + self.broken

    @property
    def per_second(self) -> float:
        return self.good / self.seconds if self.seconds else 0.0

    def percentile_ms(self, share: float) -> float:
        """Give a latency in milliseconds: `0.5` is the median."""
        if not self.latencies:
            return float("nan")
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    received: bytearray = field(default_factory=bytearray)
    unsent: bytes = b""
    needed: int = 0
    status: int = 0
    began: int = 0


def drive(address: tuple[str, int], requests: Sequence[bytes], connections: int, seconds: float) -> Outcome:
    """Send the requests in turn over so many connections for so long; requests under way at the end are awaited."""
    outcome, poll, open_ones = Outcome(), select.epoll(), dict[int, _Connection]()
    sent = 0

    def fire(connection: _Connection) -> None:
        nonlocal sent
        request = requests[sent % len(requests)]
        sent += 1
        connection.received.clear()
        connection.needed = 0
        connection.began = time.perf_counter_ns()
        _send(poll, connection, request)

    for _ in range(connections):
        connection = _Connection(_dial(address))
        open_ones[connection.socket.fileno()] = connection
        poll.register(connection.socket.fileno(), select.EPOLLIN)
    began = time.perf_counter_ns()
    end = began + int(seconds * 1e9)
    for connection in list(open_ones.values()):
        fire(connection)
    while open_ones:
        for number, event in poll.poll(30):
            connection = open_ones[number]
            if event & select.EPOLLOUT and connection.unsent:
                _send(poll, connection, connection.unsent)
            if not event & ~select.EPOLLOUT:
                continue
            finished = _receive(connection)
            if finished is None:
                continue
            now = time.perf_counter_ns()
            if finished:
                outcome.statuses[connection.status] += 1
                outcome.latencies.append(now - connection.began)
                outcome.ends.append(now)
                outcome.connections.append(number)
            else:
                outcome.broken += 1
            if finished and now < end:
                fire(connection)
                continue
            poll.unregister(number)
            connection.socket.close()
            del open_ones[number]
    outcome.seconds = (time.perf_counter_ns() - began) / 1e9
    poll.close()
    return outcome


def _dial(address: tuple[str, int]) -> socket.socket:
    one = socket.create_connection(address)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.setblocking(False)
    return one


def _send(poll: select.epoll, connection: _Connection, data: bytes) -> None:
    try:
        count = connection.socket.send(data)
    except BlockingIOError:
        count = 0
    waited = bool(connection.unsent)
    connection.unsent = data[count:]
    if connection.unsent or waited:
        events = select.EPOLLIN | (select.EPOLLOUT if connection.unsent else 0)
        poll.modify(connection.socket.fileno(), events)


def _receive(connection: _Connection) -> bool | None:
    """Read what is there: True when the answer is whole, False when the connection broke, None when more must come."""
    try:
        data = connection.socket.recv(1 << 20)
    except BlockingIOError:
        return None
    except OSError:
        return False
    if not data:
        return False
    connection.received += data
    if not connection.needed and not _read_head(connection):
        return None
    if connection.needed < 0:
        return True if connection.received.endswith(b"\r\n0\r\n\r\n") else None
    return True if len(connection.received) >= connection.needed else None


def _read_head(connection: _Connection) -> bool:
    """Read status and length once the head is there; a chunked answer has no length (-1)."""
    end = connection.received.find(b"\r\n\r\n")
    if end < 0:
        return False
    connection.status = int(connection.received[9:12])
    head = bytes(connection.received[:end]).lower()
    place = head.find(b"\r\ncontent-length:")
    if place >= 0:
        line_end = head.find(b"\r\n", place + 2)
        connection.needed = end + 4 + int(head[place + 17 : line_end if line_end > 0 else None])
    elif b"\r\ntransfer-encoding: chunked" in head:
        connection.needed = -1
    else:
        connection.needed = end + 4
    return True


def http(method: str, path: str, host: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """Write one request."""
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {host}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if body or method in ("POST", "PATCH", "PUT"):
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body
