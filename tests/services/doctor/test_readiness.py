"""What the doctor makes of the gateway's own account."""

import socket
import threading

import pytest

from schemas.settings.reading import load_settings
from services.doctor.checks import look_at_children
from services.doctor.finding import FindingLevel
from services.doctor.readiness import look_at_readiness, read_readiness
from services.supervisor.data_folder.state import ChildState, PlatformState
from tests.platform import free_port


def _state(*children: ChildState, api: int = 0) -> PlatformState:
    ports = {"api": api, "db": 0, "nats": 0, "mail": 0, "smtp": 0}
    return PlatformState("1", 7, "running", 0.0, "/d", "/p", None, ports, {}, list(children))


def test_each_part_that_is_not_ready_is_a_fault_with_a_cure() -> None:
    body = b'{"status":"not ready","parts":{"broker":"ok","stream CHANGES":"does not store: x","object store":"gone"}}'

    found = {each.title: each for each in read_readiness(body)}

    assert found.keys() == {"stream CHANGES", "object store"}
    assert all(each.level is FindingLevel.ERROR and each.cure for each in found.values())


def test_a_platform_that_is_ready_is_fine() -> None:
    [found] = read_readiness(b'{"status":"ready","parts":{"broker":"ok","rest":"ok"}}')

    assert (found.level, found.text) == (FindingLevel.OK, "the gateway answers, and so do broker, rest")


@pytest.mark.parametrize("body", [b"", b"[]", b'{"status":"ready"}', b'{"status":1,"parts":7}', b"<html>"])
def test_an_answer_of_something_else_is_a_fault(body: bytes) -> None:
    assert [each.level for each in read_readiness(body)] == [FindingLevel.ERROR]


def test_a_gateway_that_does_not_answer_is_a_fault_and_none_is_not_asked() -> None:
    settings = load_settings(b"", {}, source="none")[0]

    [found] = look_at_readiness(settings, _state(api=free_port()))

    assert (found.title, found.level) == ("gateway", FindingLevel.ERROR)
    assert look_at_readiness(settings, _state()) == []


def test_another_program_on_the_port_of_the_gateway_is_a_fault() -> None:
    def greet() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"SSH-2.0-OpenSSH\r\n")

    settings = load_settings(b"", {}, source="none")[0]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=greet)
        thread.start()
        [found] = look_at_readiness(settings, _state(api=listener.getsockname()[1]))
        thread.join()

    assert (found.title, found.level) == ("gateway", FindingLevel.ERROR)


def test_a_restart_of_the_past_is_information_and_a_silent_part_is_a_fault() -> None:
    past = look_at_children(
        _state(ChildState("pools", "running", 8, restarts=3), ChildState("migrate", "done"))
    )
    hung = look_at_children(_state(ChildState("pools", "silent", 8)))
    faulty = look_at_children(
        _state(ChildState("pools", "running", 8, faults={"stream A": "does not store"}))
    )

    assert [(each.level, each.text) for each in past] == [
        (FindingLevel.OK, "all 2 run; started again in the past: pools 3 times")
    ]
    assert [each.level for each in hung] == [FindingLevel.ERROR]
    assert "process 8 does not answer since" in hung[0].text
    assert [(each.level, each.text) for each in faulty] == [(FindingLevel.ERROR, "stream A does not store")]
