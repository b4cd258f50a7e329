"""Database logins for jobs: one for each owner, created when first needed (platform/0012_job_logins.sql).

Such a login may SET ROLE to its owner and to no other role, so a job gains nothing by RESET ROLE. Only this process
knows its password; the next leader sets another.
"""

import secrets

from workers.database.sessions.leadership import Leadership
from workers.database.sessions.passwords import verifier
from workers.database.sessions.urls import login_url
from workers.scheduler.statements import JOBS


class Logins:
    """The logins of one term of leadership; `url` is the address of the database with any login."""

    def __init__(self, leadership: Leadership, url: str) -> None:
        self._leadership, self._url = leadership, url
        self._known: dict[str, tuple[str, str]] = {}

    async def url_for(self, owner: str, database: str) -> str:
        """Return the database URL for jobs of an owner.

        Raises: DatabaseError if the owner must not run jobs, LeadershipLost.
        """
        if owner not in self._known:
            password = secrets.token_urlsafe(24)
            rows = await self._leadership.ask(JOBS["login"], owner, verifier(password))
            self._known[owner] = (rows[0][0], password)
        login, password = self._known[owner]
        return login_url(self._url, login, password, database)

    def forget(self, owner: str) -> None:
        """Forget a login that the database rejected; the next use creates it again."""
        self._known.pop(owner, None)
