"""What tests of administrators' second factors share: an app that shows codes, a browser with a passkey."""

import json
import uuid
from dataclasses import dataclass, replace
from typing import Any

import pyotp

from schemas.http import Response
from tests.workers.credentials.authenticator import Authenticator
from tests.workers.management.conftest import NOW, Client, cookie_of
from workers.management.interface.rights import Right

PASSWORD = "a long enough password"
HOST = "https://admin.example.com"
PAGE = {"origin": HOST}


@dataclass
class App:
    """An authenticator app of an administrator; each code is of the next step, so that none was used before."""

    secret: str
    steps: int = 0

    def code(self) -> str:
        """Return a code that was not used: of the step before the present one first, then of the next ones."""
        self.steps += 1
        return pyotp.TOTP(self.secret).at(int(NOW), counter_offset=self.steps - 2)

    def wrong(self) -> str:
        """Return a code that is none of the right ones."""
        now = int(NOW)
        right = {pyotp.TOTP(self.secret).at(now, counter_offset=offset) for offset in range(-3, 4)}
        return next(code for number in range(10) if (code := f"{number:06d}") not in right)


def on_host(client: Client) -> Client:
    """Return the client in a browser that reached the server by a host name, over TLS."""
    cookie = client.cookie and f"__Host-{client.cookie.removeprefix('__Host-')}"
    return replace(client, server_origin=HOST, headers=PAGE, cookie=cookie)


async def with_password(visitor: Client, right: Right = Right.READER) -> tuple[Client, str]:
    """Return a client of a new administrator who has a password, and the address."""
    email = f"{uuid.uuid4().hex}@example.com"
    client = await visitor.signed_in(email, right)
    await client.run("account.set_password", password=PASSWORD)
    return client, email


async def with_app(visitor: Client, right: Right = Right.READER) -> tuple[Client, str, App, list[str]]:
    """Return a client of a new administrator with password and app, the address, the app, the recovery codes."""
    client, email = await with_password(visitor, right)
    app = App((await client.run("factors.enrol_totp"))["secret"])
    added = await client.run("factors.confirm_totp", code=app.code())
    return client, email, app, added["recovery_codes"]


async def with_passkey(visitor: Client, right: Right = Right.READER) -> tuple[Client, str, Authenticator]:
    """Return a client of a new administrator with password and passkey, the address, and the authenticator."""
    client, email = await with_password(visitor, right)
    client, key = on_host(client), Authenticator(origin=HOST)
    await add_passkey(client, key)
    return client, email, key


async def add_passkey(client: Client, key: Authenticator, name: str = "") -> Any:
    """Register a passkey, and return what the server answered."""
    options = await client.run("factors.passkey_options")
    credential = key.create(options["options"])
    return await client.run(
        "factors.add_passkey", challenge_id=options["challenge_id"], credential=credential, name=name
    )


async def passkey_answer(client: Client, key: Authenticator) -> dict[str, Any]:
    """Ask for a challenge and answer it."""
    response = await client.send("POST", "/sign-in/passkey-options")
    assert response.status == 200, response
    options = json.loads(response.body)
    return {"challenge_id": options["challenge_id"], "credential": key.get(options["options"])}


async def half_signed_in(visitor: Client, email: str) -> Client:
    """Return a client whose session lacks its second factor."""
    response = await visitor.send("POST", "/sign-in", {"email": email, "password": PASSWORD})
    assert response.status == 200, response
    assert json.loads(response.body)["needs_factor"]
    return replace(visitor, cookie=cookie_of(response))


def code_of(response: Response) -> tuple[int, str]:
    """Return the status and the code of an error."""
    return response.status, json.loads(response.body)["code"]
