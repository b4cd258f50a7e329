"""Administrators of tests: added by the command line, signed in over HTTP."""

import uuid
from dataclasses import dataclass
from typing import Any

import httpx

from tests.platform import Platform

PASSWORD = "a long enough password"


@dataclass(slots=True)
class Administrator:
    """An administrator with the password PASSWORD, and a session that programs and browsers can use."""

    email: str
    url: str
    cookie: str

    def run(self, operation: str, /, **arguments: object) -> Any:
        """Run an operation in the session, which must succeed: to prepare what a page shows."""
        answer = httpx.post(
            f"{self.url}/management/v1/operations/{operation}",
            json=arguments,
            headers={"origin": self.url, "cookie": f"headwater_session={self.cookie}"},
            timeout=60,
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def confirm(self) -> None:
        """Give the password again, as operations that show secrets or destroy demand once in ten minutes."""
        answer = httpx.post(
            f"{self.url}/management/v1/confirm",
            json={"password": PASSWORD},
            headers={"origin": self.url, "cookie": f"headwater_session={self.cookie}"},
            timeout=60,
        )
        assert answer.status_code < 300, answer.text


def add_administrator(server: Platform, rights: str) -> Administrator:
    """Add an administrator with these rights, sign in by the link and set the password."""
    email = f"{rights}-{uuid.uuid4().hex[:8]}@example.com"
    link = one_time_secret(server, "admin", "add", email, "--rights", rights)
    answer = httpx.post(f"{server.url}/management/v1/sign-in", json={"link": link}, timeout=60)
    assert answer.status_code == 200, answer.text
    administrator = Administrator(email, server.url, answer.cookies["headwater_session"])
    administrator.run("account.set_password", password=PASSWORD)
    return administrator


def one_time_secret(server: Platform, *words: str) -> str:
    """Return the secret of the link that a command prints."""
    done = server.command(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1].rpartition("#")[2]
