"""A name server on loopback that answers from a table, speaking the real protocol over UDP."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

Zone = Mapping[str, Mapping[str, list[str]]]
"""Names to the records of each type. A name that is not there does not exist; SILENT and BROKEN say more of it."""

SILENT: dict[str, list[str]] = {"silent": []}
"""The server never answers for such a name."""
BROKEN: dict[str, list[str]] = {"broken": []}
"""The server answers that it has failed."""


@dataclass
class NameServer(asyncio.DatagramProtocol):
    """Answers questions, and remembers them as `TYPE name`."""

    zone: Zone
    port: int = 0
    asked: list[str] = field(default_factory=list)
    transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        asked = dns.message.from_wire(data)
        question = asked.question[0]
        kind, name = dns.rdatatype.to_text(question.rdtype), question.name.to_text(omit_final_dot=True)
        self.asked.append(f"{kind} {name}")
        records = self.zone.get(name)
        if records is SILENT:
            return
        reply = dns.message.make_response(asked)
        reply.flags |= dns.flags.RA
        if records is None:
            reply.set_rcode(dns.rcode.NXDOMAIN)
        elif records is BROKEN:
            reply.set_rcode(dns.rcode.SERVFAIL)
        elif kind in records:
            reply.answer.append(dns.rrset.from_text(question.name, 60, "IN", kind, *records[kind]))
        assert self.transport is not None
        self.transport.sendto(reply.to_wire(), addr)

    def resolver(self) -> dns.asyncresolver.Resolver:
        """Return a resolver that asks this server and no other."""
        made = dns.asyncresolver.Resolver(configure=False)
        made.nameservers, made.port = ["127.0.0.1"], self.port
        return made


@asynccontextmanager
async def name_server(zone: Zone) -> AsyncIterator[NameServer]:
    """Run a name server."""
    server = NameServer(zone)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: server, local_addr=("127.0.0.1", 0)
    )
    try:
        yield server
    finally:
        transport.close()
