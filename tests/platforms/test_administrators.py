"""Administrators on a whole platform: from the command line through the gateway to the pool auth, with a passkey."""

import json
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any

from tests.platform import Platform
from tests.workers.credentials.authenticator import Authenticator

PASSWORD = "a long enough password"


@dataclass
class Browser:
    """A page of the platform under the name `localhost`, with one cookie."""

    origin: str
    cookie: str = ""

    def post(self, path: str, body: object) -> tuple[int, Any]:
        """Send a request and return status and JSON."""
        headers = {"origin": self.origin, "content-type": "application/json"}
        if self.cookie:
            headers["cookie"] = self.cookie
        request = urllib.request.Request(
            f"{self.origin}/management/v1{path}", json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                if cookie := response.headers.get("set-cookie"):
                    self.cookie = cookie.partition(";")[0]
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def run(self, operation: str, **arguments: object) -> Any:
        """Run an operation, which must succeed."""
        status, result = self.post(f"/operations/{operation}", arguments)
        assert status == 200, result
        return result


def _link(done: Any) -> str:
    assert done.returncode == 0, done.stderr
    return str(done.stdout.split()[-1].rpartition("#")[2])


def test_an_owner_signs_in_by_a_passkey_and_a_reset_opens_the_way_in(running_platform: Platform) -> None:
    email = f"{uuid.uuid4().hex}@example.com"
    browser = Browser(running_platform.url.replace("127.0.0.1", "localhost"))
    key = Authenticator(origin=browser.origin)

    link = _link(running_platform.command("admin", "add", email))
    assert browser.post("/sign-in", {"link": link})[0] == 200
    browser.run("account.set_password", password=PASSWORD)
    options = browser.run("factors.passkey_options")
    added = browser.run(
        "factors.add_passkey", challenge_id=options["challenge_id"], credential=key.create(options["options"])
    )
    browser.post("/sign-out", {})
    _, half = browser.post("/sign-in", {"email": email, "password": PASSWORD})
    refused = browser.post("/operations/account.me", {})
    _, options = browser.post("/sign-in/passkey-options", {})
    answer = {"challenge_id": options["challenge_id"], "credential": key.get(options["options"])}
    signed_in = Browser(browser.origin)
    status, _ = signed_in.post("/sign-in", {"passkey": answer})

    assert added["passkey"]["rp_id"] == "localhost"
    assert (half["needs_factor"], half["factors"]) == (True, ["passkey", "recovery_code"])
    assert (refused[0], refused[1]["code"]) == (403, "needs_factor")
    assert status == 401  # the challenge is of the half-open session, so it does not sign another browser in
    assert browser.post("/sign-in/factor", {"recovery_code": added["recovery_codes"][0]})[0] == 200
    assert browser.run("account.me")["name"] == email
    link = _link(running_platform.command("admin", "reset", email))
    assert browser.post("/operations/account.me", {})[0] == 401
    _, whole = browser.post("/sign-in", {"link": link})
    assert whole["needs_factor"] is False
    assert browser.run("factors.list")["passkeys"] == []


def test_an_administrator_acts_as_a_user_on_every_interface(running_platform: Platform) -> None:
    email = f"{uuid.uuid4().hex}@example.com"
    browser = Browser(running_platform.url.replace("127.0.0.1", "localhost"))
    browser.post("/sign-in", {"link": _link(running_platform.command("admin", "add", email))})

    address = f"{uuid.uuid4().hex}@example.org"
    user = browser.run("users.create", email=address, email_confirm=True)["user"]
    listed = browser.run("users.search", email=address)
    running_platform.psql(f"insert into public.owned values ('{user['id']}', 7)")
    token = browser.run("users.sign_in_as", id=user["id"])["access_token"]
    bearer = {"authorization": f"Bearer {token}"}
    status, me = running_platform.get("/auth/v1/user", bearer)

    assert [row["id"] for row in listed["rows"]] == [user["id"]]
    assert (status, json.loads(me)["id"]) == (200, user["id"])
    assert running_platform.get("/rest/v1/owned?select=n", bearer) == (200, b'[{"n":7}]')
    running_platform.psql(f"delete from public.owned where owner = '{user['id']}'")
    assert running_platform.get("/auth/v1/admin/users", bearer)[0] == 403
    browser.run("users.delete", id=user["id"])
    assert running_platform.get("/auth/v1/user", bearer)[0] == 403
