"""Whether a host takes mail, as the Domain Name System tells it. The only door of the accounts to DNS.

A host takes mail if it names who does (MX), or else if it has an address (A, AAAA); not if it says that it takes none
(null MX), or is not there. Where no name server answers in time, nobody is kept out: the mail will tell. Answers are kept
for some minutes. Source: reference page "auth", section 18.4; RFC 5321, 5.1; RFC 7505.
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
    """Hosts that were asked about. Without a resolver, that of the system is used."""

    def __init__(
        self, clock: Callable[[], float], resolver: dns.asyncresolver.Resolver | None = None
    ) -> None:
        self._clock = clock
        self._resolver = resolver
        self._kept: OrderedDict[str, tuple[bool, float]] = OrderedDict()

    async def may_take_mail(self, host: str) -> bool:
        """Tell whether mail may reach a host: False only where it is known that none can."""
        kept = self._kept.get(host)
        if kept is not None and self._clock() - kept[1] < LASTS_S:
            return kept[0]
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
        """Ask the name servers. Raises: DNSException if they do not tell."""
        try:
            name = dns.name.from_text(f"{host}.")
        except (dns.name.LabelTooLong, dns.name.NameTooLong, dns.name.EmptyLabel):
            return False
        try:
            servers = await self._records(name, "MX")
            if servers:
                return any(each.exchange != dns.name.root for each in servers)
            return bool(await self._records(name, "A") or await self._records(name, "AAAA"))
        except dns.resolver.NXDOMAIN:
            return False

    async def _records(self, name: dns.name.Name, kind: str) -> list[Any]:
        """Give the records of a name; none if it has none of the kind."""
        if self._resolver is None:
            self._resolver = dns.asyncresolver.Resolver()
        found = await self._resolver.resolve(name, kind, raise_on_no_answer=False, lifetime=TIMEOUT_S)
        return list(found)
