import os
import socket
import sys
from pathlib import Path

import pytest

from schemas.settings.tree import Api, Broker, Db, Settings
from services.supervisor.errors import StartRefused
from services.supervisor.port_holder import port_holder
from services.supervisor.ports import (
    PortRequest,
    check_plain_port,
    choose_ports,
    is_free,
    requested_ports,
    unbindable,
)

EVERYTHING = ("api", "db", "nats")


@pytest.fixture
def taken():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_program_with_any_name_is_named(taken, tmp_path, monkeypatch):
    """The kernel cuts names off in the midst of a letter; a folder `logs` beside a program makes it no platform."""
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)
    name = Path("/proc/thread-self/comm")
    before = name.read_bytes()
    name.write_bytes("ein-längerer-ñ".encode()[:15])
    try:
        assert port_holder(taken).endswith(f" (process {os.getpid()})")
    finally:
        name.write_bytes(before.strip())


def numbers(settings, named=()):
    return {wanted.name: wanted.number for wanted in requested_ports(settings, named, needed=EVERYTHING)}


def test_without_a_named_port_all_are_the_usual_ones():
    assert numbers(Settings()) == {"api": 54321, "db": 54322, "nats": 54328}


@pytest.mark.parametrize(("api", "beside"), [(7000, [0, 7001, 7007]), (0, [0, 0, 0]), (65534, [0, 65535, 0])])
def test_with_a_named_api_port_all_others_are_beside_it_or_free_ones(api, beside):
    settings = Settings(api=Api(port=api))
    wanted = requested_ports(settings, {"api"}, needed=EVERYTHING)

    assert numbers(settings, {"api"}) == {"api": api, "db": 0, "nats": 0}
    assert [each.preferred for each in wanted] == beside


def test_a_port_beside_the_api_is_taken_unless_it_is_in_use(taken):
    free = choose_ports([PortRequest("db", "Postgres", "--db-port", "127.0.0.1", 0)], {}).db
    wanted = [PortRequest("db", "Postgres", "--db-port", "127.0.0.1", 0, free)]
    in_use = [PortRequest("db", "Postgres", "--db-port", "127.0.0.1", 0, taken)]

    assert choose_ports(wanted, {}).db == free
    assert choose_ports(in_use, {}).db not in (0, taken)


def test_the_usual_api_port_leaves_all_others_the_usual_ones():
    assert numbers(Settings(), {"api"}) == {"api": 54321, "db": 54322, "nats": 54328}


def test_what_else_was_named_stays():
    settings = Settings(api=Api(port=7000), db=Db(port=7001), broker=Broker())

    assert numbers(settings, {"api", "nats"}) == {"api": 7000, "db": 7001, "nats": 54328}


def test_only_needed_ports_are_wanted():
    assert [wanted.name for wanted in requested_ports(Settings(), (), needed=["nats"])] == ["nats"]


def test_a_port_in_use_is_refused_with_its_number_its_holder_and_its_option(taken):
    holder = rf"by \S.* \(process {os.getpid()}\)" if sys.platform == "linux" else "by another program"
    with pytest.raises(StartRefused, match=f"Port {taken} for the API is in use {holder}.*--port"):
        choose_ports([PortRequest("api", "the API", "--port", "127.0.0.1", taken)], {})


def test_the_port_of_the_last_start_is_taken_again_if_it_is_free(taken):
    wanted = [PortRequest("db", "Postgres", "--db-port", "127.0.0.1", 0)]
    free = choose_ports(wanted, {}).db

    assert choose_ports(wanted, {"db": free}).db == free
    assert choose_ports(wanted, {"db": taken}).db != taken


def test_a_free_port_is_never_one_that_another_part_has(monkeypatch):
    offered = iter([7001, 7001, 7002])

    class Probe:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def close(self):
            pass

        def getsockname(self):
            return ("127.0.0.1", next(offered))

    monkeypatch.setattr("services.supervisor.ports._bound", lambda _host, _port: Probe())
    wanted = [
        PortRequest("db", "Postgres", "--db-port", "127.0.0.1", 0),
        PortRequest("nats", "NATS", "--nats-port", "127.0.0.1", 0),
    ]

    ports = choose_ports(wanted, {})

    assert (ports.db, ports.nats) == (7001, 7002)


def test_two_parts_never_get_one_port():
    free = choose_ports([PortRequest("db", "Postgres", "--db-port", "127.0.0.1", 0)], {}).db
    both = [
        PortRequest("db", "Postgres", "--db-port", "127.0.0.1", free),
        PortRequest("nats", "NATS", "--nats-port", "127.0.0.1", free),
    ]

    with pytest.raises(StartRefused, match="chosen twice"):
        choose_ports(both, {})


def test_a_host_of_another_machine_is_refused():
    with pytest.raises(StartRefused, match="no address of this machine"):
        is_free("192.0.2.1", 0)


def test_a_port_that_the_system_keeps_says_what_to_do():
    told = unbindable("0.0.0.0", 443, PermissionError(13, "Permission denied"))

    assert "sysctl net.ipv4.ip_unprivileged_port_start=80" in told
    assert "CAP_NET_BIND_SERVICE" in told


def test_the_port_that_redirects_must_be_free(taken):
    with pytest.raises(StartRefused, match=r"api\.tls\.http_port"):
        check_plain_port("127.0.0.1", taken)
    check_plain_port("127.0.0.1", 0)
