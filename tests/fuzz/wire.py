"""Cases of HTTP: bytes in a file, sent as they are to a running platform, and the answer with what must always be so of it.

    anon GET /rest/v1/kinds?select=id          who calls, method, target
    prefer: count=exact                        headers, one a line

    body

`anon`, `user` and `service` are the three callers; a key and a token are added for them. Method, target and headers are sent
byte for byte. The length of the body is added, and headers that frame a message are left out: what is no HTTP is tested
elsewhere, and here an answer must belong to its request.
"""

import http.client
import json
import socket
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tests.attacks.conftest import access_token
from tests.fuzz.grammar import Grammar
from tests.platform import Platform

SECRET = b"planted-secret-"
USER = "u1"
CALLERS = ("anon", "user", "service")
PARTS = ("edges", "pools", "nats", "postgres")
_TIMEOUT_S = 30
_FRAMING = frozenset(
    {
        b"content-length",
        b"transfer-encoding",
        b"connection",
        b"expect",
        b"upgrade",
        b"apikey",
        b"authorization",
    }
)


@dataclass(frozen=True, slots=True)
class Case:
    """A request of a case, read."""

    caller: str
    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: bytes
    body: bytes

    @property
    def whole(self) -> bytes:
        """Return headers and body, in lower case: where a secret is looked for."""
        return (self.headers + self.body).lower()


def read_case(case: bytes) -> Case:
    """Read a case; whatever is missing is empty or the usual."""
    head, _, body = case.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    caller, _, rest = first.partition(b" ")
    method, _, target = rest.partition(b" ")
    pairs = tuple(
        (name, value.strip(b" ")) for name, _, value in (line.partition(b":") for line in lines) if name
    )
    name = caller.decode(errors="replace")
    return Case(name if name in CALLERS else "anon", method.strip() or b"GET", target or b"/", pairs, body)


def case_of(
    caller: str, method: str, target: str, headers: Mapping[str, str], body: bytes | str = b""
) -> bytes:
    """Write a case."""
    lines = [f"{caller} {method} {target}", *(f"{name}: {value}" for name, value in headers.items())]
    return (
        "\n".join(lines).encode(errors="replace")
        + b"\n\n"
        + (body if isinstance(body, bytes) else body.encode(errors="replace"))
    )


def made_by(grammar: Grammar, random: Random, name: str = "start") -> bytes:
    """Return a case that a grammar makes whole."""
    return grammar.make(random, name).encode(errors="replace")


class Wire:
    """A connection to a platform that is kept, with the keys of the three callers."""

    def __init__(self, target: Platform) -> None:
        self.target = target
        self.statuses: Counter[int] = Counter()
        """How many answers had which status: cases that all end in one of them would test little."""
        self._socket: socket.socket | None = None
        anon, service = (target.values[name].encode() for name in ("ANON_KEY", "SERVICE_ROLE_KEY"))
        user = access_token(target, sub=USER, role="authenticated").encode()
        pairs = {"anon": (anon, anon), "user": (anon, user), "service": (service, service)}
        self.keys: dict[str, tuple[bytes, ...]] = {
            caller: (b"apikey: " + key, b"authorization: Bearer " + token)
            for caller, (key, token) in pairs.items()
        }

    def send(self, case: Case, keys: tuple[bytes, ...] | None = None) -> Answer:
        """Send a request and read its answer; `keys` are header lines in place of the caller's own."""
        headers = [pair for pair in case.headers if pair[0].strip().lower() not in _FRAMING]
        if not any(name.strip().lower() == b"host" for name, _ in headers):
            headers.insert(0, (b"host", b"127.0.0.1"))
        own = self.keys[case.caller] if keys is None else keys
        lines = [case.method.replace(b"\r", b"") + b" " + case.target + b" HTTP/1.1"]
        lines += [
            *(name + b": " + value for name, value in headers),
            b"content-length: %d" % len(case.body),
            *own,
            b"",
            b"",
        ]
        data = b"\r\n".join(lines) + case.body
        for is_last in (False, True):
            is_fresh = self._socket is None
            try:
                return self._exchange(data, case.method)
            except (ConnectionError, http.client.RemoteDisconnected, http.client.BadStatusLine):
                self.close()
                if is_fresh or is_last:  # a kept connection may have been closed meanwhile
                    raise
        raise AssertionError("not reached")

    def ask(self, caller: str, method: str, target: str, body: object = None) -> Answer:
        """Send a plain request with a body of JSON."""
        data = b"" if body is None else json.dumps(body).encode()
        return self.send(
            Case(caller, method.encode(), target.encode(), ((b"content-type", b"application/json"),), data)
        )

    def close(self) -> None:
        """Close the connection; the next request opens one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exchange(self, data: bytes, method: bytes) -> Answer:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.target.port), timeout=_TIMEOUT_S)
        self._socket.sendall(data)
        answer = http.client.HTTPResponse(self._socket, method=method.decode(errors="replace"))
        answer.begin()
        found = Answer(answer.status, bytes(str(answer.headers), "utf-8", "replace"), answer.read())
        self.statuses[found.status] += 1
        if answer.will_close or found.status == 400:
            self.close()
        return found


class Health:
    """What of a platform must be the same after a run: its processes live, and no defect was logged."""

    def __init__(self, target: Platform) -> None:
        self._target = target
        self._parts = self._pids()
        self._defects = self._tracebacks()

    def check(self) -> None:
        """Raises: AssertionError if a process was started again, or a traceback was logged."""
        assert self._pids() == self._parts, "a process of the platform ended"
        assert self._tracebacks() == self._defects, "a defect was logged"

    def _pids(self) -> dict[str, int]:
        state = json.loads((self._target.data / "state.json").read_text())
        return {child["name"]: int(child["pid"]) for child in state["children"] if child["name"] in PARTS}

    def _tracebacks(self) -> int:
        return sum(
            path.read_text(errors="replace").count("Traceback")
            for path in (self._target.data / "logs").glob("*.log")
        )


def check_always(case: Case, answer: Answer) -> None:
    """Check what holds for every answer. Raises: AssertionError for a failure of ours, and for a secret."""
    # 501 rejects what is not implemented, by its name: it is no failure.
    assert answer.status < 500 or answer.status == 501, f"{answer.status} {answer.body[:300]!r}"
    if case.caller != "service":
        assert SECRET not in answer.whole, "a caller sees what is another's"


def check_share(wire: Wire, least: float) -> None:
    """Check that enough requests got past all checks: a fuzzer whose cases are all refused tests only the refusals."""
    done = sum(count for status, count in wire.statuses.items() if status < 300)
    assert done >= least * wire.statuses.total(), dict(wire.statuses)
