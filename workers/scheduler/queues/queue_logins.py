"""Sessions of the queues' owners (platform/0031_queue_consumers.sql): a login for each owner, with one password for a term of leadership."""

import secrets

from workers.database.sessions.leadership import Leadership
from workers.database.sessions.passwords import verifier
from workers.database.sessions.role_session import RoleSession
from workers.database.sessions.urls import login_url
from workers.scheduler.queues.queue_table import QueueTable
from workers.scheduler.statements import QUEUES


class QueueLogins:
    """Opens queues; `url` is the address of the database with any login."""

    def __init__(self, leadership: Leadership, url: str) -> None:
        self._leadership, self._url = leadership, url
        self._password = secrets.token_urlsafe(24)
        self._verifier = verifier(self._password)

    async def open(self, queue: str, dead_letter: str, *, archives: bool) -> QueueTable:
        """Open a queue as its owner. Raises: DatabaseError if there is no such queue or its owner may not, Disconnected, LeadershipLost."""
        [(owner, login)] = await self._leadership.ask(QUEUES["login"], queue, self._verifier)
        session = await RoleSession.open(
            login_url(self._url, login, self._password), owner, f"headwater queue {queue}"
        )
        return QueueTable(session, queue, dead_letter, archives=archives)
