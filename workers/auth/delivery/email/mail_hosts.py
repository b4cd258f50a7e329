"""Checks by DNS whether a host takes mail. If no name server answers in time the host counts as reachable: a failing delivery will
show. Answers are cached for five minutes. Source: docs/reference/auth.md, section 18.4.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

TIMEOUT_S = 3.0
LASTS_S = 300.0
_MOST = 4096


class MailHostSource(Protocol):
    """Answers from name servers (`mail_host_queries.MailHostResolver`)."""

    async def takes_mail(self, host: str, timeout_s: float) -> bool | None:
        """Return whether a host takes mail, or None if no name server answers in time."""


class MailHosts:
    """A cache of answers by host. Without `source` it asks the system's resolver."""

    def __init__(self, clock: Callable[[], float], source: MailHostSource | None = None) -> None:
        self._clock = clock
        self._source = source
        self._cached: OrderedDict[str, tuple[bool, float]] = OrderedDict()

    async def may_take_mail(self, host: str) -> bool:
        """Return whether mail may reach a host. False only if DNS says that it cannot."""
        cached = self._cached.get(host)
        if cached is not None and self._clock() - cached[1] < LASTS_S:
            return cached[0]
        if self._source is None:
            self._source = await asyncio.to_thread(_system_resolver)
        takes = await self._source.takes_mail(host, TIMEOUT_S)
        if takes is None:
            return True
        self._cached[host] = takes, self._clock()
        self._cached.move_to_end(host)
        while len(self._cached) > _MOST:
            self._cached.popitem(last=False)
        return takes


def _system_resolver() -> MailHostSource:
    """Load the DNS library, which takes 0.1 s: so in a thread, at the first query."""
    from workers.auth.delivery.email.mail_host_queries import MailHostResolver

    return MailHostResolver()
