"""Frames of realtime: the readers take whole frames or none, and a socket answers after anything that it was sent.

The first target is the pure readers: what is read is whole, and its payload is JSON where it says so. The second sends lists of
frames to a running platform, one a line (binary ones as `b64:`): afterwards the socket still answers a heartbeat or was closed
with a reason, another socket is served, and no frame holds what another may see. Meanwhile rows with secrets change.
"""

import base64
import json
from collections import Counter
from random import Random

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from services.realtime.protocol import frames
from services.realtime.protocol.frames import MalformedFrame, Push
from services.realtime.protocol.join import parse_join
from tests.attacks.conftest import access_token
from tests.fuzz.core import Budget, Target, run
from tests.fuzz.grammar import Grammar
from tests.fuzz.wire import SECRET, USER, Wire
from tests.services.realtime.edges import user_push

_GRAMMAR = Grammar(
    r"""
start: ["1","1","«topic»","phx_join",{"config":{«config»}}]\n«frames» | ["1","1","«topic»","phx_join",{"config":{«config»},"access_token":"«token»"}]\n«frames» | «frames»
frames: «frame» | «frame»\n«frame» | «frame»\n«frames»
frame: ["1","«ref»","«topic»","«event»",«payload»] | ["1","«ref»","«topic»","broadcast",{"type":"broadcast","event":"«text»","payload":«json»}] | ["1","«ref»","«topic»","presence",{"type":"presence","event":"track","payload":«json»}] | [null,"«ref»","phoenix","heartbeat",{}] | ["1","«ref»","«topic»","phx_leave",{}] | ["1","«ref»","«topic»","access_token",{"access_token":"«token»"}] | ["2","2","realtime:other","phx_join",{"config":{«config»}}] | «json» | b64:«binary» | {"topic":"«topic»","event":"«event»","payload":«payload»,"ref":"1"}
topic: realtime:room | realtime:room | realtime:public:guarded | realtime:public:guarded:id=gt.3 | realtime:* | realtime: | phoenix | realtime:«text» | «text»
event: broadcast | presence | presence_state | phx_join | phx_leave | phx_reply | phx_close | postgres_changes | heartbeat | access_token | «text»
config: «part» | «part»,«part» | "broadcast":{"ack":true,"self":true},«part» |
part: "broadcast":{"ack":«json»,"self":true} | "presence":{"key":«json»,"enabled":true} | "private":«flag» | "postgres_changes":[«change»,«change»] | "postgres_changes":[«change»] | "postgres_changes":«json» | "broadcast":{"replay":{"since":«number»,"limit":«number»}} | "resume":«json»
change: {"event":"*","schema":"public","table":"guarded"} | {"event":"«kind»","schema":"public","table":"«table»","filter":"«filter»"} | {"schema":"*"} | {"table":"guarded","select":«json»} | {"event":"UPDATE","schema":"public","table":"guarded","filter":"body=like.planted%"} | {} | «json»
kind: INSERT | UPDATE | DELETE | * | «text»
table: guarded | parents | kinds | partly | nowhere | *
filter: id=eq.«number» | body=eq.planted-secre | owner=in.(u1,u2) | id=lt.«number» | «text»=eq.1 | name=neq.«text» | id=is.null | words=match.[ | doc=eq.{} | tags=cs.{a} | id=not.eq.1 | «text»
flag: true | false | "true" | null
payload: {} | [] | null | {"type":"«text»"} | {"event":"«text»","payload":«json»} | «json» | {"access_token":null} | {"response":{},"status":"ok"}
json: 1 | "«text»" | null | true | {} | [] | {"a":«json»} | [«json»,«json»] | -1e308 | 99999999999999999999 | "\\ud800"
number: 0 | 1 | 5 | -1 | 1700000000000 | 99999999999999999999 | 1e400 | 0.5
text: a | | room | ü | \\u0000 | \\ud83e\\udd86 | id | realtime:room | «long» | __proto__ | *
token: x | eyJhbGciOiJub25lIn0.e30. | sb_publishable_x | a.b.c |
ref: 1 | 5 | | «text» | 7
binary: «bytes»
""",
    long=lambda random: "x" * random.choice((255, 256, 300, 5000)),
    bytes=lambda random: base64.b64encode(_binary(random)).decode(),
)
_MOST_FRAMES = 30
_SETTLED = json.dumps([None, "settled", "phoenix", "heartbeat", {}])
_STIR_AFTER = 20
_FOR_ANY_CLOSE = frozenset({1000, 1001, 1003, 1007, 1008, 1009})
"""Codes of closes that have a reason in what the client sent; 1011 is a defect of ours."""


def _binary(random: Random) -> bytes:
    payload = random.choice((b'{"n":1}', b"\x00\x01", b"", b"planted", b"[" * 600))
    whole = user_push(
        random.choice(("realtime:room", "", "x" * 255)),
        "e",
        payload,
        is_json=random.random() < 0.5,
        ref="1",
        join_ref="1",
    )
    kinds = (
        whole,
        b"\x00\x01\x01\x0d\x09" + b"11realtime:roombroadcast" + payload,
        random.randbytes(20),
        bytes([random.randrange(8)]) + whole[1:],
    )
    return random.choice(kinds)


def _generated(random: Random) -> bytes:
    caller = random.choice(("anon", "user"))
    return f"{caller}\n{_GRAMMAR.make(random)}".encode(errors="replace")


def _lines(case: bytes) -> list[str | bytes]:
    found: list[str | bytes] = []
    for line in case.decode(errors="replace").split("\n")[1 : _MOST_FRAMES + 1]:
        if line.startswith("b64:"):
            try:
                found.append(base64.b64decode(line[4:], validate=True))
            except ValueError:
                found.append(line.encode())
        else:
            found.append(line)
    return found


def _check_readers(case: bytes) -> None:
    for frame in _lines(case):
        for vsn in (1, 2):
            try:
                read = frames.read_binary if isinstance(frame, bytes) else frames.read_text
                push = read(frame, vsn)  # type: ignore[operator,arg-type]  # one reader for each kind of frame
            except MalformedFrame:
                continue
            assert push.topic.encode().decode() == push.topic
            if isinstance(push, Push) or push.is_json:
                json.loads(push.payload.decode(), parse_int=str)
            assert parse_join(push.payload, "k").presence_key


class _Sockets:
    """Opens a socket for each case, and one more that must be served all the while."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._sent = 0
        self.replies: Counter[str] = Counter()
        self._tokens = {"anon": "", "user": access_token(wire.target, sub=USER)}
        self._other = self._opened("user")

    def check(self, case: bytes) -> None:
        """Send the frames of a case."""
        self._sent += 1
        if self._sent % _STIR_AFTER == 0:
            assert self._wire.ask("service", "POST", "/rest/v1/rpc/tidied", {}).status < 300
        caller = case.partition(b"\n")[0].decode(errors="replace")
        try:
            with self._opened(caller if caller in self._tokens else "anon") as socket:
                for frame in _lines(case):
                    socket.send(frame)
                self._settle(socket)
        except ConnectionClosed as error:
            code = error.rcvd.code if error.rcvd is not None else 1006
            self.replies[f"closed {code}"] += 1
            assert code in _FOR_ANY_CLOSE, f"closed with {code}: {error}"  # noqa: PT017 - a close is right, too
        self._settle(self._other)

    def close(self) -> None:
        """Close the other socket."""
        self._other.close()

    def _opened(self, caller: str) -> ClientConnection:
        key = self._wire.target.values["ANON_KEY"]
        url = f"ws://127.0.0.1:{self._wire.target.port}/realtime/v1/websocket?apikey={key}&vsn=2.0.0"
        socket = connect(url, compression=None, proxy=None, close_timeout=2, ping_interval=None)
        if self._tokens.get(caller):
            socket.send(
                json.dumps([None, "t", "phoenix", "access_token", {"access_token": self._tokens[caller]}])
            )
        return socket

    def _settle(self, socket: ClientConnection) -> None:
        """Send a heartbeat and read to its reply; nothing on the way may hold a secret."""
        socket.send(_SETTLED)
        while True:
            frame = socket.recv(timeout=30)
            data = frame.encode() if isinstance(frame, str) else frame
            assert SECRET not in data.lower(), f"a frame shows a secret: {data[:300]!r}"
            if isinstance(frame, str):
                _, ref, _, event, payload = json.loads(frame)
                self.replies[payload.get("status", event) if isinstance(payload, dict) else event] += 1
                if ref == "settled":
                    return


def test_any_frame_is_read_whole_or_malformed(budget: Budget) -> None:
    run(
        Target(
            "realtime_frames",
            _generated,
            _check_readers,
            2000,
            _GRAMMAR.words,
            guided_by=("services/realtime/protocol/frames.py", "services/realtime/protocol/join.py"),
        ),
        budget,
    )


@pytest.mark.process_group("fuzz")
def test_a_socket_answers_after_any_frames_and_shows_no_secret(budget: Budget, wire: Wire) -> None:
    sockets = _Sockets(wire)
    try:
        figures = run(Target("realtime", _generated, sockets.check, 250, _GRAMMAR.words, share=7), budget)
    finally:
        sockets.close()

    print(f"frames of the platform: {dict(sockets.replies.most_common(9))}")
    assert sockets.replies["ok"] > 2 * figures.cases
