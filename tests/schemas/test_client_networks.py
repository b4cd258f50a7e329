"""One network is one client, wherever something is limited by address: 64 bits of IPv6 are no 2^64 clients."""

import pytest

from schemas.client_networks import client_network
from services.gateway.connections.connection_limits import ConnectionLimits
from services.realtime.limits import SocketCounts


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:0DB8:1:2::", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("no address: really", "no address: really"),
        ("", ""),
    ],
)
def test_an_address_counts_with_its_network(address: str, network: str) -> None:
    assert client_network(address) == network


def test_addresses_of_one_network_share_connections_and_sockets() -> None:
    connections, sockets = ConnectionLimits(0, 2), SocketCounts(0, 0, 2)
    addresses = ["2001:db8::1", "2001:db8::2:0:0:1", "2001:db8::3", "2001:db8:0:1::1"]

    assert [connections.enter(address) is not None for address in addresses] == [True, True, False, True]
    assert [sockets.add("key", address) is not None for address in addresses] == [True, True, False, True]
