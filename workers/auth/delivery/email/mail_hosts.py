"""Checks by DNS whether a host takes mail. The only module of auth that imports the DNS library.

A host takes mail if it has an MX record, or else an address record (A, AAAA); not if its MX is the null MX, or the name does
not exist. If no name server answers in time the host counts as reachable: a failing delivery will show. Answers are cached
for five minutes. Source: docs/reference/auth.md, section 18.4; RFC 5321, 5.1; RFC 7505.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import dns.asyncresolver
import dns.exception
import dns.name
import dns.resolver

TIMEOUT_S = 3.0
LASTS_S = 300.0
_MOST = 4096


class MailHosts:
    """A cache of answers by host. Without `resolver` it uses the system's resolver."""

    def __init__(
        self, clock: Callable[[], float], resolver: dns.asyncresolver.Resolver | None = None
    ) -> None:
        self._clock = clock
        self._resolver = resolver
        self._kept: OrderedDict[str, tuple[bool, float]] = OrderedDict()

    async def may_take_mail(self, host: str) -> bool:
        """Return whether mail may reach a host. False only if DNS says that it cannot."""
        cached = self._kept.get(host)
        if cached is not None and self._clock() - cached[1] < LASTS_S:
            return cached[0]
        try:
            async with asyncio.timeout(TIMEOUT_S):
                takes = await self._ask(host)
        except (TimeoutError, dns.exception.DNSException, OSError):
            return True
        self._kept[host] = takes, self._clock()
        self._kept.move_to_end(host)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return takes

    async def _ask(self, host: str) -> bool:
        """Query the name servers. Raises: DNSException if they do not answer."""
        try:
            name = dns.name.from_text(f"{host}.")
        except (dns.name.LabelTooLong, dns.name.NameTooLong, dns.name.EmptyLabel):
            return False
        try:
            servers = await self._records(name, "MX")
            if servers:
                return any(server.exchange != dns.name.root for server in servers)
            return bool(await self._records(name, "A") or await self._records(name, "AAAA"))
        except dns.resolver.NXDOMAIN:
            return False

    async def _records(self, name: dns.name.Name, kind: str) -> list[Any]:
        """Return the records of a kind; an empty list if the name exists without any."""
        if self._resolver is None:
            self._resolver = dns.asyncresolver.Resolver()
        answer = await self._resolver.resolve(name, kind, raise_on_no_answer=False, lifetime=TIMEOUT_S)
        return list(answer)
