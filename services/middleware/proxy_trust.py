"""Whose forwarding headers count: peers in `gateway.trusted_proxies`, and connections that show `gateway.proxy_secret`.

An address says little about a program on this machine: hosted functions reach the gateway over loopback as a proxy there does. So a
proxy on loopback shows a secret in a header of its own, and where there is such a secret a peer on loopback that does not show it is no
proxy, whatever the networks say. The header is dropped with those of the connection (`services/gateway/requests/request.py`): nothing behind the
gateway sees it.
"""

import hmac
import ipaddress
from collections.abc import Sequence
from typing import Self

from schemas.keys.secret import Secret
from schemas.settings.tree import Gateway
from services.middleware.limits import Network, is_in_networks, read_networks

PROXY_SECRET = "headwater-proxy-secret"  # noqa: S105 - the name of a header
_NAME = PROXY_SECRET.encode()
LOOPBACKS: tuple[Network, ...] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class ProxyTrust:
    """The proxies of one gateway."""

    def __init__(self, networks: Sequence[Network] = (), secret: Secret | None = None) -> None:
        self.networks = tuple(networks)
        self._secret = secret.reveal().encode() if secret is not None else b""

    @classmethod
    def of(cls, gateway: Gateway) -> Self:
        """Return the proxies that the settings name. Raises: ValueError."""
        return cls(read_networks(gateway.trusted_proxies), gateway.proxy_secret)

    @property
    def uncounted(self) -> tuple[Network, ...]:
        """Networks whose connections bring many clients: they are not counted by address."""
        return (*self.networks, *LOOPBACKS) if self._secret else self.networks

    def is_shown(self, raw_headers: Sequence[tuple[bytes, bytes]]) -> bool:
        """Return whether a request shows the secret, in one header line."""
        if not self._secret:
            return False
        shown = [value for name, value in raw_headers if name.lower() == _NAME]
        return len(shown) == 1 and hmac.compare_digest(shown[0], self._secret)

    def networks_for(self, peer: str, *, is_shown: bool) -> Sequence[Network]:
        """Return the networks whose addresses are proxies, for a request of this peer."""
        if not self._secret:
            return self.networks
        if not is_shown:
            return () if is_in_networks(peer, LOOPBACKS) else self.networks
        if is_in_networks(peer, self.networks):
            return self.networks
        return (*self.networks, ipaddress.ip_network(peer.partition("%")[0]))
