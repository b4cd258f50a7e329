"""Which peers are proxies whose forwarding headers count: by network, and by the secret that they show."""

import pytest

from schemas.keys.secret import Secret
from services.middleware.limits import client_address, read_networks
from services.middleware.proxy_trust import ProxyTrust

_SECRET = "a-secret-of-the-front"
_SHOWN = ((b"Headwater-Proxy-Secret", _SECRET.encode()),)
_TWICE = (*_SHOWN, (b"headwater-proxy-secret", b"another"))
_WRONG = ((b"headwater-proxy-secret", b"another"),)


@pytest.mark.parametrize(
    ("networks", "secret", "peer", "headers", "client"),
    [
        (["127.0.0.0/8"], None, "127.0.0.1", (), "198.51.100.1"),
        (["127.0.0.0/8"], None, "127.0.0.1", _SHOWN, "198.51.100.1"),
        ([], None, "127.0.0.1", _SHOWN, "127.0.0.1"),
        ([], _SECRET, "127.0.0.1", _SHOWN, "198.51.100.1"),
        ([], _SECRET, "::1", _SHOWN, "198.51.100.1"),
        ([], _SECRET, "10.0.0.7", _SHOWN, "198.51.100.1"),
        ([], _SECRET, "127.0.0.1", (), "127.0.0.1"),
        ([], _SECRET, "127.0.0.1", _WRONG, "127.0.0.1"),
        ([], _SECRET, "127.0.0.1", _TWICE, "127.0.0.1"),
        (["127.0.0.0/8"], _SECRET, "127.0.0.1", (), "127.0.0.1"),
        (["0.0.0.0/0"], _SECRET, "::ffff:127.0.0.2", (), "::ffff:127.0.0.2"),
        (["10.0.0.0/8"], _SECRET, "10.0.0.7", (), "198.51.100.1"),
        (["10.0.0.0/8"], _SECRET, "10.0.0.7", _WRONG, "198.51.100.1"),
        (["10.0.0.0/8"], _SECRET, "192.0.2.1", (), "192.0.2.1"),
    ],
)
def test_the_client_is_whom_a_proxy_names(
    networks: list[str], secret: str | None, peer: str, headers: tuple[tuple[bytes, bytes], ...], client: str
) -> None:
    trust = ProxyTrust(read_networks(networks), None if secret is None else Secret(secret))

    trusted = trust.networks_for(peer, is_shown=trust.is_shown(headers))

    assert client_address(peer, "198.51.100.1", trusted) == client
