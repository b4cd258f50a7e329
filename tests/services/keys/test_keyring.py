"""Keys that change while the gateway runs: its own by the file, those of issuers by their address. Real broker, real issuer."""

import asyncio
import base64
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from broker.events import publish_event
from broker.nats.connection import NatsConnection
from broker.subjects import KEYS_CHANGED
from schemas.caller import Caller, RejectedCaller, ServiceCaller, UserCaller
from schemas.events import KeysChanged
from schemas.keys.key_rotation import new_list, rotate
from schemas.keys.signing import read_signing_key, sign
from schemas.settings.auth_providers import Firebase, ThirdParty, WorkOs
from schemas.settings.tree import Auth, Settings
from services.app import build_authenticator
from services.gateway.requests.authentication import Authenticator
from services.gateway.requests.routes import route_of
from services.keys.issuers import IssuerTemplate, third_party_issuers
from services.keys.key_fetch import KeyClient
from services.keys.keyring import GatewayKeyring
from services.keys.platform_keys import PlatformKeys
from services.keys.third_party_keys import ThirdPartyKeys
from services.supervisor.api_keys import keys_of
from tests.broker.server import NatsServer, running_server
from tests.services.keys.issuer import KEYS, Issuer, pair, running_issuer

OWN, SECRET, OWN_ISSUER = keys_of(Auth()), Auth().jwt_secret.reveal(), Auth().external_url
REST, AUTH = "/rest/v1/items", "/auth/v1/user"


@pytest_asyncio.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as server:
        yield server


@asynccontextmanager
async def running_keyring(
    nats: NatsServer, *, places: dict[str, IssuerTemplate] | None = None, **auth: Any
) -> AsyncIterator[tuple[Authenticator, GatewayKeyring]]:
    """Return an authenticator whose keys are kept up to date."""
    settings = Settings(auth=Auth(**auth))
    own, publications = PlatformKeys(settings.auth), KeyClient()
    keeper = build_authenticator(settings, own)
    issuers = third_party_issuers(settings.auth.third_party, **({"templates": places} if places else {}))
    keyring = GatewayKeyring(keeper, own, ThirdPartyKeys(issuers, publications.keys, keeper.trust))
    connection = await NatsConnection.open(nats.url, name="edges")
    try:
        await keyring.start(connection)
        yield keeper, keyring
    finally:
        await keyring.close()
        await connection.close()
        await publications.close()


async def ask(keeper: Authenticator, path: str, token: str) -> Caller:
    """Ask as the edge does."""
    found = route_of(path)
    assert found is not None
    authorization, now = f"Bearer {token}", time.time()
    caller = keeper.caller(found[0], OWN.anon_key, authorization, now)
    if isinstance(caller, RejectedCaller):
        return await keeper.second_look(found[0], OWN.anon_key, authorization, now, caller)
    return caller


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.01)


def trusting(issuer: Issuer) -> dict[str, Any]:
    return {"third_party": ThirdParty(workos=WorkOs(True, issuer.url))}


# Foreign issuers


async def test_the_data_interfaces_take_a_foreign_token_and_the_accounts_do_not(
    nats: NatsServer, issuer: Issuer
) -> None:
    token = issuer.token()
    async with running_keyring(nats, **trusting(issuer)) as (keeper, _):
        for path in (REST, "/graphql/v1", "/storage/v1/object/x", "/realtime/v1/api"):
            found = await ask(keeper, path, token)
            assert isinstance(found, UserCaller)
            assert found.decoded()["sub"] == "foreign-user"
        assert isinstance(await ask(keeper, AUTH, token), RejectedCaller)
        assert isinstance(await ask(keeper, "/functions/v1/x", token), RejectedCaller)


async def test_a_foreign_token_is_no_api_key(nats: NatsServer, issuer: Issuer) -> None:
    async with running_keyring(nats, **trusting(issuer)) as (keeper, _):
        assert keeper.keys.holder(issuer.token(role="service_role"), time.time()) is None


async def test_firebase_tokens_must_be_for_the_project(nats: NatsServer, issuer: Issuer) -> None:
    places = {"firebase": IssuerTemplate(issuer.url + "/{project_id}", issuer.url + KEYS, "{project_id}")}
    settings = {"third_party": ThirdParty(firebase=Firebase(True, "mine"))}
    async with running_keyring(nats, places=places, **settings) as (keeper, _):
        mine = issuer.url + "/mine"

        assert isinstance(await ask(keeper, REST, issuer.token(iss=mine, aud="mine")), UserCaller)
        assert isinstance(await ask(keeper, REST, issuer.token(iss=mine, aud="theirs")), RejectedCaller)
        assert isinstance(await ask(keeper, REST, issuer.token(iss=mine)), RejectedCaller)
        assert isinstance(
            await ask(keeper, REST, issuer.token(iss=issuer.url + "/theirs", aud="mine")), RejectedCaller
        )


async def test_no_issuer_speaks_for_another_nor_for_us(nats: NatsServer, issuer: Issuer) -> None:
    """Two issuers whose keys have the same id; the first is hostile."""
    issuer.key = pair("same", "RS256")
    issuer.publish()
    async with running_issuer() as victim:
        victim.key = pair("same", "RS256")
        victim.publish()
        places = {
            "workos": IssuerTemplate("{issuer_url}"),
            "firebase": IssuerTemplate(victim.url + "/{project_id}", victim.url + KEYS, "{project_id}"),
        }
        trusted = ThirdParty(workos=WorkOs(True, issuer.url), firebase=Firebase(True, "mine"))
        claims = {"iss": victim.url + "/mine", "aud": "mine", "sub": "victim"}
        public = issuer.key.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        ours = OWN_ISSUER
        forged = {
            "another's issuer": issuer.key.token(**claims),
            "ours": issuer.key.token(iss=ours, sub="victim"),
            "no issuer": issuer.key.token(sub="victim"),
            "another slash": issuer.key.token(iss=issuer.url + "/"),
            "our secret, its issuer": jwt.encode({"iss": issuer.url, "exp": 1 << 40}, SECRET, "HS256"),
            "its public key as a secret": _keyed(public, {"iss": issuer.url, "exp": 1 << 40}),
            "a key in the head": jwt.encode(
                claims,
                issuer.key.private,
                "RS256",
                {"kid": "same", "jwk": issuer.key.public, "jku": issuer.url + KEYS},
            ),
            "the first of two names": _signed_text(
                issuer, f'{{"iss":"{issuer.url}","exp":9999999999,"iss":"{claims["iss"]}","aud":"mine"}}'
            ),
        }
        async with running_keyring(nats, places=places, third_party=trusted) as (keeper, _):
            assert isinstance(await ask(keeper, REST, victim.token(**claims)), UserCaller)
            for path in (REST, "/graphql/v1", "/storage/v1/object/x", "/realtime/v1/api"):
                answers = {name: await ask(keeper, path, token) for name, token in forged.items()}
                assert {name for name, caller in answers.items() if isinstance(caller, UserCaller)} == set()


def _keyed(secret: bytes, claims: dict[str, Any]) -> str:
    """Sign by HMAC whatever the secret is: the library refuses a public key."""
    parts = ({"alg": "HS256", "kid": "same"}, claims)
    text = ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    )
    mac = hmac.digest(secret, text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def _signed_text(issuer: Issuer, claims: str) -> str:
    return jwt.api_jws.encode(claims.encode(), issuer.key.private, "RS256", {"kid": issuer.key.id})


async def test_a_key_that_the_issuer_has_just_begun_to_use_is_learnt_by_the_first_request(
    nats: NatsServer, issuer: Issuer
) -> None:
    async with running_keyring(nats, **trusting(issuer)) as (keeper, _):
        old, issuer.key = issuer.key, pair("two", "RS256")
        issuer.publish(old.public, issuer.key.public)

        assert isinstance(await ask(keeper, REST, issuer.token()), UserCaller)
        assert isinstance(await ask(keeper, REST, old.token(iss=issuer.url)), UserCaller)
        assert issuer.asked[KEYS] == 2


async def test_a_key_that_the_issuer_dropped_is_refused_though_its_token_was_kept(
    nats: NatsServer, issuer: Issuer
) -> None:
    token = issuer.token()
    async with running_keyring(nats, **trusting(issuer)) as (keeper, keyring):
        assert isinstance(await ask(keeper, REST, token), UserCaller)
        issuer.publish(pair("two").public)
        await keyring.learn(issuer.url)

        assert isinstance(await ask(keeper, REST, token), RejectedCaller)


async def test_made_up_keys_do_not_make_us_ask_often(nats: NatsServer, issuer: Issuer) -> None:
    async with running_keyring(nats, **trusting(issuer)) as (keeper, _):
        for number in range(30):
            forged = pair(f"made-up-{number % 3}").token(iss=issuer.url)
            assert isinstance(await ask(keeper, REST, forged), RejectedCaller)

        assert issuer.asked[KEYS] == 2


async def test_a_well_known_key_with_a_wrong_signature_asks_nobody(nats: NatsServer, issuer: Issuer) -> None:
    async with running_keyring(nats, **trusting(issuer)) as (keeper, _):
        assert isinstance(await ask(keeper, REST, pair("one").token(iss=issuer.url)), RejectedCaller)
        assert isinstance(await ask(keeper, REST, issuer.token(exp=1)), RejectedCaller)

        assert issuer.asked[KEYS] == 1


async def test_an_issuer_that_was_away_at_the_start_is_asked_when_its_token_comes(
    nats: NatsServer, issuer: Issuer
) -> None:
    del issuer.documents[KEYS]
    async with running_keyring(nats, **trusting(issuer)) as (keeper, _):
        issuer.publish()

        assert isinstance(await ask(keeper, REST, issuer.token()), UserCaller)


async def test_our_own_tokens_hold_beside_foreign_ones(
    nats: NatsServer, issuer: Issuer, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_text(new_list())
    own = sign({"exp": int(time.time()) + 60, "iss": "ours"}, read_signing_key(file.read_text()))
    async with running_keyring(nats, signing_keys_path=str(file), **trusting(issuer)) as (keeper, _):
        assert isinstance(await ask(keeper, REST, own), UserCaller)
        assert isinstance(await ask(keeper, REST, OWN.anon_key), UserCaller)


# Our own keys


def token_of(file: Path) -> str:
    return sign({"exp": int(time.time()) + 60, "role": "authenticated"}, read_signing_key(file.read_text()))


def step(file: Path) -> None:
    file.write_text(rotate(file.read_text()).text)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(new_list())
    return path


async def test_a_token_of_a_new_key_is_taken_at_once_without_waiting_for_the_next_look(
    nats: NatsServer, file: Path
) -> None:
    async with running_keyring(nats, signing_keys_path=str(file)) as (keeper, _):
        step(file)
        step(file)

        for path in (REST, AUTH, "/storage/v1/object/x"):
            assert isinstance(await ask(keeper, path, token_of(file)), UserCaller)


async def test_through_a_whole_rotation_old_and_new_tokens_hold_as_they_should(
    nats: NatsServer, file: Path
) -> None:
    async with running_keyring(nats, signing_keys_path=str(file)) as (keeper, keyring):
        old = token_of(file)
        step(file)
        assert keyring.reload_if_changed()
        assert isinstance(await ask(keeper, REST, old), UserCaller)
        step(file)
        assert keyring.reload_if_changed()
        assert isinstance(await ask(keeper, REST, old), UserCaller)
        new = token_of(file)
        assert isinstance(await ask(keeper, REST, new), UserCaller)
        step(file)
        assert keyring.reload_if_changed()

        assert isinstance(await ask(keeper, REST, old), RejectedCaller)
        assert isinstance(await ask(keeper, AUTH, old), RejectedCaller)
        assert isinstance(await ask(keeper, REST, new), UserCaller)
        assert await ask(keeper, REST, OWN.service_role_key) == ServiceCaller()


async def test_the_accounts_event_has_dropped_keys_refused_at_once(nats: NatsServer, file: Path) -> None:
    async with running_keyring(nats, signing_keys_path=str(file)) as (keeper, _):
        old = token_of(file)
        assert isinstance(await ask(keeper, REST, old), UserCaller)
        for _ in range(3):
            step(file)
        assert isinstance(await ask(keeper, REST, old), UserCaller)  # kept, and nobody has looked yet

        pools = await NatsConnection.open(nats.url, name="workers")
        publish_event(pools, KEYS_CHANGED, KeysChanged())
        await pools.flush()
        await pools.close()

        async def is_refused() -> bool:
            return isinstance(await ask(keeper, REST, old), RejectedCaller)

        await until(is_refused)


async def test_a_broken_file_harms_nobody(nats: NatsServer, file: Path) -> None:
    async with running_keyring(nats, signing_keys_path=str(file)) as (keeper, keyring):
        token = token_of(file)
        file.write_text("[")

        assert not keyring.reload_if_changed()
        assert isinstance(await ask(keeper, REST, token), UserCaller)


async def test_a_secret_of_the_data_interfaces_stays_theirs_when_our_keys_change(
    nats: NatsServer, file: Path
) -> None:
    keeper = build_authenticator(Settings(auth=Auth(signing_keys_path=str(file))))
    keeper.data_has_own_secret = True
    before = keeper.data._platform
    keeper.use(PlatformKeys(Auth(signing_keys_path=str(file))).keys)

    assert keeper.data._platform is before
