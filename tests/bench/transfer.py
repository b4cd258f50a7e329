"""A closed-loop load generator for large bodies on one thread: what it sends is made once, what it receives is let go.

Beside `load`, which keeps every answer, this one holds one buffer for all connections. It counts bytes and its own CPU
time, and says how many bodies were not as long as they should be.
"""

import select
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

_BUFFER = bytearray(1 << 20)
_PATIENCE_S = 120
_MOST_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, and how long the body of its answer must be; below 0: any length."""

    head: bytes
    piece: bytes = b""
    """What the body is made of, again and again."""
    size: int = 0
    """Bytes of the body."""
    answer: int = -1


@dataclass(slots=True)
class Transfers:
    """What one run gave. `moved` counts bytes of bodies both ways of exchanges that went well."""

    seconds: float = 0.0
    own_cpu: float = 0.0
    moved: int = 0
    latencies: list[int] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0

    @property
    def count(self) -> int:
        """Give how many were answered."""
        return sum(self.statuses.values())

    @property
    def errors(self) -> int:
        """Give how many did not go well."""
        return self.broken + sum(n for status, n in self.statuses.items() if not 200 <= status < 300)

    @property
    def per_second(self) -> float:
        """Give the exchanges a second."""
        return (self.count - self.errors + self.broken) / self.seconds

    @property
    def mb_per_second(self) -> float:
        """Give the megabytes (10^6 bytes) of bodies a second."""
        return self.moved / self.seconds / 1e6

    def percentile_ms(self, share: float) -> float:
        """Give a latency in milliseconds."""
        ordered = sorted(self.latencies) or [0]
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6


class _Connection:
    """A connection with one exchange at a time on it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.exchange = Exchange(b"")
        self.began, self.status, self.length, self.received = 0, 0, -1, 0
        self._unsent, self._at, self._head = memoryview(b""), 0, b""

    def begin(self, exchange: Exchange) -> None:
        """Take up an exchange; nothing is sent yet."""
        self.exchange, self.began = exchange, time.perf_counter_ns()
        self.status, self.length, self.received, self._head = 0, -1, 0, b""
        first = exchange.piece[: exchange.size] if len(exchange.piece) <= _MOST_HEAD else b""
        self._unsent, self._at = memoryview(exchange.head + first), len(first)

    def send(self) -> bool:
        """Send what the socket takes; True when all has left."""
        while True:
            if not self._unsent:
                left = self.exchange.size - self._at
                if left <= 0:
                    return True
                self._unsent = memoryview(self.exchange.piece)[:left]
                self._at += len(self._unsent)
            try:
                count = self.socket.send(self._unsent)
            except BlockingIOError:
                return False
            self._unsent = self._unsent[count:]

    def receive(self) -> bool:
        """Take what has come; True when the answer is whole. Raises: OSError when the connection broke."""
        try:
            count = self.socket.recv_into(_BUFFER)
        except BlockingIOError:
            return False
        if not count:
            raise ConnectionResetError
        if self.length < 0:
            self._head += bytes(_BUFFER[:count])
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return False
            self.status, self.length = _read_head(self._head[:end])
            count = len(self._head) - end - 4
        self.received += count
        return self.received >= self.length


def _read_head(head: bytes) -> tuple[int, int]:
    length = head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
    if not length:
        raise ConnectionResetError("an answer without its length")
    return int(head[9:12]), int(length)


def transfer(
    address: tuple[str, int], make: Callable[[int], Exchange], connections: int, seconds: float
) -> Transfers:
    """Run exchange after exchange on each connection; what is under way at the end is awaited. `make` is given numbers."""
    outcome, poll = Transfers(), select.epoll()
    open_ones = {each.socket.fileno(): each for each in (_Connection(address) for _ in range(connections))}
    number = 0

    def fire(one: _Connection, is_new: bool = False) -> None:
        nonlocal number
        one.begin(make(number))
        number += 1
        events = select.EPOLLIN if one.send() else select.EPOLLIN | select.EPOLLOUT
        if is_new:
            poll.register(one.socket.fileno(), events)
        elif events & select.EPOLLOUT:
            poll.modify(one.socket.fileno(), events)

    def step(one: _Connection, event: int) -> bool:
        if event & select.EPOLLOUT and one.send():
            poll.modify(one.socket.fileno(), select.EPOLLIN)
        return bool(event & ~select.EPOLLOUT) and one.receive()

    began, cpu = time.perf_counter_ns(), time.process_time()
    end = began + int(seconds * 1e9)
    for one in open_ones.values():
        fire(one, is_new=True)
    while open_ones:
        ready = poll.poll(_PATIENCE_S)
        if not ready:
            raise TimeoutError(f"{len(open_ones)} exchanges are not answered")
        for file, event in ready:
            one = open_ones[file]
            try:
                if not step(one, event):
                    continue
            except OSError:
                outcome.broken += 1
            else:
                _note(outcome, one)
                if time.perf_counter_ns() < end:
                    fire(one)
                    continue
            poll.unregister(file)
            one.socket.close()
            del open_ones[file]
    outcome.seconds, outcome.own_cpu = (time.perf_counter_ns() - began) / 1e9, time.process_time() - cpu
    poll.close()
    return outcome


def _note(outcome: Transfers, one: _Connection) -> None:
    outcome.statuses[one.status] += 1
    outcome.latencies.append(time.perf_counter_ns() - one.began)
    wanted = one.exchange.answer
    if wanted >= 0 and wanted != one.received:
        outcome.broken += 1
    elif 200 <= one.status < 300:
        outcome.moved += one.exchange.size + max(0, wanted)
