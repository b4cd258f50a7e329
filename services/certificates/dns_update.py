"""Writes and removes records by updates of a name server (RFC 2136), signed with a key that both know (TSIG, RFC 8945).

BIND, Knot, PowerDNS and Windows accept such updates; a key can be limited to the one name `_acme-challenge.<domain>`. The zone is asked
of the server itself: the longest end of the name for which it is the authority.
"""

import socket
from urllib.parse import urlsplit

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import dns.update

_NETWORK_S = 20.0
_TTL_S = 60
_PORT = 53


class UpdateWriter:
    """Writes records at one server, over TCP. `server` is `host` or `host:port`; without `key_name` updates are not signed."""

    def __init__(self, server: str, key_name: str, key_algorithm: str, key_secret: str) -> None:
        where = urlsplit(f"//{server}")
        self._host, self._port = where.hostname or "", where.port or _PORT
        self._server = server
        self._algorithm = dns.name.from_text(key_algorithm or "hmac-sha256")
        self._keys = dns.tsigkeyring.from_text({key_name: key_secret}) if key_name else None

    def present(self, name: str, value: str, domain: str) -> None:
        """Add a TXT record beside others of its name. Raises: OSError with the reason as its text."""
        del domain
        update, relative = self._update_of(name)
        update.add(relative, _TTL_S, "TXT", f'"{value}"')
        self._send(update)

    def remove(self, name: str, value: str, domain: str) -> None:
        """Remove that TXT record alone. Raises: OSError with the reason as its text."""
        del domain
        update, relative = self._update_of(name)
        update.delete(relative, "TXT", f'"{value}"')
        self._send(update)

    def _update_of(self, name: str) -> tuple[dns.update.UpdateMessage, dns.name.Name]:
        """Return an empty update of the zone, and the name relative to it."""
        whole = dns.name.from_text(name)
        zone = self._zone_of(whole)
        return dns.update.UpdateMessage(zone), whole.relativize(zone)

    def _zone_of(self, name: dns.name.Name) -> dns.name.Name:
        """Return the zone of a name: that for which the server answers a SOA record with authority."""
        zone = name.parent()
        while zone != dns.name.root:
            query = dns.message.make_query(zone, dns.rdatatype.SOA)
            query.flags &= ~dns.flags.RD
            response = self._exchange(query)
            is_its_own = any(
                found.name == zone and found.rdtype == dns.rdatatype.SOA for found in response.answer
            )
            if is_its_own and response.flags & dns.flags.AA:
                return zone
            zone = zone.parent()
        raise OSError(
            f"the name server {self._server} is not the authority of {name.to_text(omit_final_dot=True)}"
        )

    def _send(self, update: dns.update.UpdateMessage) -> None:
        code = self._exchange(update).rcode()
        if code != dns.rcode.NOERROR:
            raise OSError(f"the name server {self._server} rejects the update: {dns.rcode.to_text(code)}")

    def _exchange(self, message: dns.message.Message) -> dns.message.Message:
        """Send a message, signed, and return the verified response. Raises: OSError."""
        if self._keys is not None:
            message.use_tsig(self._keys, algorithm=self._algorithm)
        try:
            address = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)[0][4][0]
            return dns.query.tcp(message, str(address), timeout=_NETWORK_S, port=self._port)
        except dns.tsig.PeerError as error:
            raise OSError(
                f"the name server {self._server} does not accept the key: {type(error).__name__}"
            ) from None
        except dns.exception.DNSException as error:
            raise OSError(f"the name server {self._server}: {type(error).__name__}: {error}") from None
        except (OSError, EOFError) as error:  # EOFError: it closed the connection without a response
            raise OSError(
                f"the name server {self._server} cannot be reached: {getattr(error, 'strerror', None) or type(error).__name__}"
            ) from None
