"""Rotation of signing keys on a running platform, without a restart: nobody is signed out, and no request fails."""

import json
import secrets
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.platform import Platform, headwater, platform

pytestmark = [pytest.mark.process_group("rotation"), pytest.mark.timeout(240)]

_PATIENCE_S = 60
_TABLE = (
    "create table diary (id int); insert into diary values (1); grant select on diary to anon, authenticated;"
)


@dataclass
class RunningPlatform:
    """A platform and its file of signing keys."""

    platform: Platform
    file: Path

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        asked = urllib.request.Request(
            self.platform.url + path,
            data=json.dumps(body).encode(),
            headers={"apikey": self.platform.values["ANON_KEY"], "content-type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found

    def sign_up(self) -> dict[str, Any]:
        address = f"{secrets.token_hex(8)}@example.org"
        return self.post("/auth/v1/signup", {"email": address, "password": "correct horse battery"})

    def refresh(self, session: dict[str, Any]) -> dict[str, Any]:
        token = {"refresh_token": session["refresh_token"]}
        return self.post("/auth/v1/token?grant_type=refresh_token", token)

    def statuses(self, token: str) -> tuple[int, int]:
        """Ask for rows and for the user with an access token; give both statuses."""
        headers = {"Authorization": f"Bearer {token}"}
        paths = ("/rest/v1/diary?select=id", "/auth/v1/user")
        rows, user = (self.platform.get(path, headers)[0] for path in paths)
        return rows, user

    def shown(self) -> set[str]:
        """Give the ids of the keys that everybody may see."""
        status, body = self.platform.get("/auth/v1/.well-known/jwks.json")
        assert status == 200
        return {key["kid"] for key in json.loads(body)["keys"]}

    def rotate(self) -> str:
        done = headwater("keys", "rotate", "--keys", str(self.file))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kids(self) -> set[str]:
        return {key["kid"] for key in json.loads(self.file.read_text())}

    def check_api_keys(self) -> None:
        """The legacy keys (HS256) and the opaque ones hold, as keys and as tokens."""
        values = self.platform.values
        for name in ("ANON_KEY", "SERVICE_ROLE_KEY", "PUBLISHABLE_KEY", "SECRET_KEY"):
            for more in ({}, {"Authorization": f"Bearer {values[name]}"}):
                status, body = self.platform.get("/rest/v1/diary?select=id", {"apikey": values[name], **more})
                assert (status, body) == (200, b'[{"id":1}]'), name
        admin = {
            "apikey": values["SERVICE_ROLE_KEY"],
            "Authorization": f"Bearer {values['SERVICE_ROLE_KEY']}",
        }
        assert self.platform.get("/auth/v1/admin/users?per_page=1", admin)[0] == 200


class Traffic:
    """Somebody who never stops asking, with every token that should hold."""

    def __init__(self, running_platform: RunningPlatform) -> None:
        self._house = running_platform
        self._tokens: list[str] = []
        self._lap = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.asked = 0
        self.failed: list[tuple[int, int]] = []

    def use(self, *tokens: str) -> None:
        """Ask with these tokens from now on; a lap that has begun is over when this returns."""
        with self._lap:
            self._tokens = list(tokens)

    def __enter__(self) -> "Traffic":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(timeout=60)

    def _work(self) -> None:
        while not self._is_over.is_set():
            with self._lap:
                for token in self._tokens:
                    statuses = self._house.statuses(token)
                    self.asked += 1
                    if statuses != (200, 200):
                        self.failed.append(statuses)
            time.sleep(0.001)  # lets others take the lock


@pytest.fixture(scope="module")
def running_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPlatform]:
    file = tmp_path_factory.mktemp("rotation") / "signing_keys.json"
    file.write_text(headwater("keys", "--signing").stdout)
    with platform(environment={"HEADWATER_AUTH_SIGNING_KEYS_PATH": str(file)}) as one:
        one.psql(_TABLE)
        one.wait_for_catalog("diary")
        yield RunningPlatform(one, file)


def until(holds: Callable[[], bool], complaint: str, pause_s: float = 0.02) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, complaint
        time.sleep(pause_s)


def signer(token: str) -> str:
    return str(jwt.get_unverified_header(token)["kid"])


def test_a_whole_rotation_signs_nobody_out_and_fails_no_request(running_platform: RunningPlatform) -> None:
    [old_kid] = running_platform.kids()
    before = running_platform.sign_up()
    sleeper = running_platform.sign_up()  # comes back after the rotation, with nothing but the refresh token
    old = before["access_token"]
    assert signer(old) == old_kid
    assert running_platform.shown() == {old_kid}
    running_platform.check_api_keys()

    with Traffic(running_platform) as traffic:
        traffic.use(old)

        running_platform.rotate()  # a standby
        [new_kid] = running_platform.kids() - {old_kid}
        assert running_platform.shown() == {old_kid, new_kid}
        second = running_platform.refresh(before)
        assert signer(second["access_token"]) == old_kid
        assert running_platform.statuses(old) == (200, 200)
        traffic.use(old, second["access_token"])
        running_platform.check_api_keys()

        running_platform.rotate()  # the standby signs
        assert running_platform.shown() == {old_kid, new_kid}
        third = running_platform.refresh(second)
        new = third["access_token"]
        assert signer(new) == new_kid
        assert running_platform.statuses(new) == (200, 200)
        assert running_platform.statuses(old) == (200, 200)
        traffic.use(old, second["access_token"], new)
        running_platform.check_api_keys()
        traffic.use(new)

        running_platform.rotate()  # the old one is gone
        assert running_platform.shown() == {new_kid}
        until(
            lambda: running_platform.statuses(old) == (401, 403), "tokens of the dropped key are still taken"
        )
        assert running_platform.statuses(second["access_token"]) == (401, 403)
        assert running_platform.statuses(new) == (200, 200)
        running_platform.check_api_keys()

        fourth = running_platform.refresh(third)
        back = running_platform.refresh(sleeper)
        for session in (fourth, back, running_platform.sign_up()):
            assert signer(session["access_token"]) == new_kid
            assert running_platform.statuses(session["access_token"]) == (200, 200)

    assert traffic.failed == []
    assert traffic.asked > 0


def test_a_file_that_is_broken_changes_nothing_until_it_is_mended(running_platform: RunningPlatform) -> None:
    text, session = running_platform.file.read_text(), running_platform.sign_up()
    shown = running_platform.shown()
    try:
        for broken in ("", "[", "[]", text.replace('"sign",', "")):
            running_platform.file.write_text(broken)

            assert running_platform.shown() == shown
            session = running_platform.refresh(session)
            assert running_platform.statuses(session["access_token"]) == (200, 200)
    finally:
        running_platform.file.write_text(text)

    assert running_platform.shown() == shown
    assert running_platform.statuses(session["access_token"]) == (200, 200)


def test_without_anybody_asking_the_accounts_look_at_the_file_by_themselves(
    running_platform: RunningPlatform,
) -> None:
    session = running_platform.sign_up()
    kid = signer(session["access_token"])
    running_platform.rotate()
    running_platform.rotate()

    def is_signed_anew() -> bool:
        nonlocal session
        session = running_platform.refresh(session)
        return signer(session["access_token"]) != kid

    until(is_signed_anew, "the new key does not sign", pause_s=0.2)  # refreshes are limited
    assert running_platform.statuses(session["access_token"]) == (200, 200)
