from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from broker.nats.connection import NatsConnection
from schemas.functions.log_events import LogLine
from schemas.settings.functions import FunctionSettings
from tests.broker.server import NatsServer
from tests.workers.functions.site import LINES
from workers.functions.catalog.registry import HostedFunction
from workers.functions.logs.journal import Journal, LineSplitter, read_line

ONE = HostedFunction(
    "one", "v", Path("/f/one/index.ts"), None, Path("/f/one"), FunctionSettings(), {}, Path("/f")
)


@given(
    st.lists(st.binary(max_size=40).filter(lambda piece: b"\n" not in piece), max_size=8), st.integers(1, 9)
)
def test_lines_are_whole_however_they_arrive(lines: list[bytes], step: int) -> None:
    data, seen = b"".join(line + b"\n" for line in lines), []
    reader = LineSplitter(seen.append)
    for start in range(0, len(data), step):
        reader.feed(data[start : start + step])
    reader.end()

    assert seen == lines


def test_an_endless_line_is_cut() -> None:
    seen: list[bytes] = []
    reader = LineSplitter(seen.append)
    for _ in range(10):
        reader.feed(b"x" * 100_000)

    assert len(seen) > 1


def test_frames_carry_level_and_request_and_other_output_is_a_line() -> None:
    assert read_line(b'\x1e["warning","r1","text"]', "info") == ("warning", "r1", "text")
    assert read_line(b'\x1e"listening"', "info") == "listening"
    assert read_line(b"plain", "error") == ("error", "", "plain")
    assert read_line(b'\x1e["odd","",""]', "info") == ("info", "", '\x1e["odd","",""]')
    assert read_line(b"\x1e{broken", "info") == ("info", "", "{broken")


async def test_lines_over_the_rate_are_dropped_and_counted(nats: NatsServer) -> None:
    now = [0.0]
    seen: list[LogLine] = []
    connection = await NatsConnection.open(nats.url, name="test")
    connection.subscribe("logs.functions.one", lambda message: seen.append(LINES.decode(message.payload)))
    journal = Journal(connection, 3, lambda: now[0])

    for number in range(10):
        journal.write(ONE, "e", "info", str(number))
    journal.write(ONE, "e", "info", "event", event="boot")
    now[0] = 11.0
    journal.write(ONE, "e", "info", "y" * 20_000)
    await connection.flush()

    assert [line.text[:5] for line in seen] == ["0", "1", "2", "event", "7 lin", "yyyyy"]
    assert len(seen[-1].text) == 10_000
    await connection.close()


async def test_lines_that_were_dropped_at_the_end_of_a_process_are_counted_too(nats: NatsServer) -> None:
    seen: list[LogLine] = []
    connection = await NatsConnection.open(nats.url, name="test")
    connection.subscribe("logs.functions.one", lambda message: seen.append(LINES.decode(message.payload)))
    journal = Journal(connection, 1, lambda: 0.0)

    for _ in range(3):
        journal.write(ONE, "e", "info", "x", "r" * 100_000)
    journal.close(ONE, "e")
    await connection.flush()

    assert [line.text for line in seen] == ["x", "2 lines were dropped: more than 1 in 10 s"]
    assert len(seen[0].request_id) == 200
    await connection.close()
