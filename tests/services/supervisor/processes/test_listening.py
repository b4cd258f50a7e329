import os
import socket
import sys

import pytest

from broker.processes.inherited_sockets import (
    KEPT_FDS,
    LISTEN_FDS,
    InheritedSockets,
    port_of,
    take_activated,
    take_sockets,
)
from schemas.settings.tree import Gateway, Settings
from services.supervisor.processes.listening import open_gateway
from tests.platform import free_port

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="sockets are kept by the supervisor on Linux alone"
)


def settings(host="127.0.0.1"):
    return Settings(gateway=Gateway(host=host))


def is_taken(port):
    """Return whether a connection is taken into the queue of a listening socket."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionRefusedError:
        return False
    return True


def test_the_socket_is_bound_and_takes_nothing_before_an_edge_listens():
    port = free_port()
    (bound,) = open_gateway(settings(), port)
    with bound:
        before = is_taken(port)
        bound.listen()
        assert (before, is_taken(port)) == (False, True)


def test_an_edge_that_stops_ends_the_listening_and_the_next_one_begins_it_again():
    port = free_port()
    (bound,) = open_gateway(settings(), port)
    with bound, bound.dup() as first, bound.dup() as second:
        first.listen()
        first.shutdown(socket.SHUT_RDWR)
        between = is_taken(port)
        second.listen()
        assert (between, is_taken(port)) == (False, True)


def test_a_platform_without_gateway_has_no_socket():
    assert open_gateway(settings(), 0) == []


def test_an_address_that_cannot_be_had_is_left_to_the_edge():
    assert open_gateway(settings("192.0.2.1"), free_port()) == []


def test_inherited_sockets_are_taken_once_and_inherited_no_further():
    with socket.socket() as one:
        one.set_inheritable(True)
        environment = {LISTEN_FDS: str(socket.dup(one.fileno()))}
        inherited = take_sockets(environment)
        (taken,) = inherited.sockets
        with taken:
            assert not inherited.is_kept
            assert not taken.get_inheritable()
            assert take_sockets(environment) == InheritedSockets()


def test_sockets_that_systemd_holds_are_divided_by_their_ports():
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        numbers = [socket.dup(each.fileno()) for each in (one, other)]
        inherited = take_sockets({KEPT_FDS: ",".join(map(str, numbers))})
        port = port_of(other)
        (plain,), (own,) = inherited.on_port(port).sockets, inherited.without_port(port).sockets
        with plain, own:
            assert (port_of(plain), port_of(own)) == (port, port_of(one))
            assert inherited.on_port(port).is_kept


@pytest.mark.parametrize(
    ("environment", "descriptors"),
    [
        ({"LISTEN_FDS": "2", "LISTEN_PID": "own", "LISTEN_FDNAMES": "a:b"}, [3, 4]),
        ({"LISTEN_FDS": "2", "LISTEN_PID": "1"}, []),
        ({"LISTEN_FDS": "many", "LISTEN_PID": "own"}, []),
        ({}, []),
    ],
)
def test_descriptors_of_systemd_are_those_for_this_process(environment, descriptors):
    # The process that tests is a fork of the one that collected the parameters.
    environment = {name: str(os.getpid()) if value == "own" else value for name, value in environment.items()}
    assert take_activated(environment) == descriptors
    assert environment == {}, "no child takes them for its own"
