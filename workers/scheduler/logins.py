"""Logins as which jobs run: one for each owner, made when it is first needed (platform/0012_job_logins.sql).

Such a login can become its owner and nobody else, so a job gains nothing by RESET ROLE. Its password is known to this process
only; the next leader gives it another.
"""

import secrets

from workers.database.assertions import verifier
from workers.database.leader import Leadership
from workers.database.urls import login_url
from workers.scheduler.statements import JOBS


class Logins:
    """The logins of one term of leadership; `url` is the address of the database, whatever its login."""

    def __init__(self, leadership: Leadership, url: str) -> None:
        self._leadership, self._url = leadership, url
        self._known: dict[str, tuple[str, str]] = {}

    async def url_for(self, owner: str, database: str) -> str:
        """Give the address at which a job of an owner logs in. Raises: DatabaseError if it must not run, LeadershipLost."""
        if owner not in self._known:
            password = secrets.token_urlsafe(24)
            rows = await self._leadership.ask(JOBS["login"], owner, verifier(password))
            self._known[owner] = (rows[0][0], password)
        login, password = self._known[owner]
        return login_url(self._url, login, password, database)

    def forget(self, owner: str) -> None:
        """Have the login made anew: it was refused."""
        self._known.pop(owner, None)
