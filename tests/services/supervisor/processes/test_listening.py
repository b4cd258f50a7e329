import socket
import sys

import pytest

from broker.processes.inherited_sockets import LISTEN_FDS, take_sockets
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
        (taken,) = take_sockets(environment)
        with taken:
            assert not taken.get_inheritable()
            assert take_sockets(environment) == []
