"""Queries name servers whether a host takes mail. The only module of auth that imports the DNS library, which takes 5 MB of memory:
`mail_hosts.py` loads it at the first query, and platforms that do not check hosts never do.

A host takes mail if it has an MX record, or else an address record (A, AAAA); not if its MX is the null MX, or the name does
not exist. Source: docs/reference/auth.md, section 18.4; RFC 5321, 5.1; RFC 7505.
"""

import asyncio
from typing import Any

import dns.asyncresolver
import dns.exception
import dns.name
import dns.resolver


class MailHostResolver:
    """Queries through one resolver: the system's, unless another is given."""

    def __init__(self, resolver: dns.asyncresolver.Resolver | None = None) -> None:
        self._resolver = resolver

    async def takes_mail(self, host: str, timeout_s: float) -> bool | None:
        """Return whether a host takes mail, or None if no name server answers in time."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._ask(host, timeout_s)
        except (TimeoutError, dns.exception.DNSException, OSError):
            return None

    async def _ask(self, host: str, timeout_s: float) -> bool:
        """Query the name servers. Raises: DNSException if they do not answer."""
        try:
            name = dns.name.from_text(f"{host}.")
        except (dns.name.LabelTooLong, dns.name.NameTooLong, dns.name.EmptyLabel):
            return False
        try:
            servers = await self._records(name, "MX", timeout_s)
            if servers:
                return any(server.exchange != dns.name.root for server in servers)
            return bool(
                await self._records(name, "A", timeout_s) or await self._records(name, "AAAA", timeout_s)
            )
        except dns.resolver.NXDOMAIN:
            return False

    async def _records(self, name: dns.name.Name, kind: str, timeout_s: float) -> list[Any]:
        """Return the records of a kind; an empty list if the name exists without any."""
        if self._resolver is None:
            self._resolver = dns.asyncresolver.Resolver()
        answer = await self._resolver.resolve(name, kind, raise_on_no_answer=False, lifetime=timeout_s)
        return list(answer)
