"""Options for browsers, and what of their answers is believed. A software authenticator answers, or misbehaves."""

import secrets
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.credentials.authenticator import (
    BACKED_UP,
    ELIGIBLE,
    HAS_CREDENTIAL,
    HAS_EXTENSIONS,
    ICLOUD,
    ORIGIN,
    PRESENT,
    RP_ID,
    VERIFIED,
    Authenticator,
    base64url,
    cose_key,
    unbase64url,
)
from tests.workers.credentials.test_plain_cbor import bomb
from workers.auth.factors.relying_party import credential_owner
from workers.auth.model.rows import AuthUser
from workers.credentials.relying_party import RelyingParty
from workers.credentials.webauthn_credentials import (
    KnownCredential,
    NewCredential,
    StoredCredential,
    Unverified,
    WebauthnAssertion,
)
from workers.credentials.webauthn_rules import (
    creation_options,
    credential_id,
    new_challenge,
    request_options,
    response_user_handle,
    user_handle,
    verify_creation,
    verify_request,
)

PARTY = RelyingParty(RP_ID, "Example", (ORIGIN, "https://www.example.com"))
USER = AuthUser(UUID(int=1), email="ada@example.org", raw_user_meta_data={"full_name": "Ada"})


def creation(
    known: list[KnownCredential] | None = None, *, is_passkey: bool = True, user: AuthUser = USER
) -> dict[str, Any]:
    return creation_options(
        PARTY, credential_owner(user), new_challenge(), known or [], 300, is_passkey=is_passkey
    )


def request(allowed: list[KnownCredential] | None = None) -> dict[str, Any]:
    return request_options(PARTY, new_challenge(), allowed or [], 300)


def created(one: Authenticator, **changes: Any) -> NewCredential:
    options = creation()
    return verify_creation(PARTY, unbase64url(options["challenge"]), one.create(options) | changes)


def kept(made: NewCredential) -> StoredCredential:
    return StoredCredential(made.public_key, made.sign_count, made.is_backup_eligible)


def used(one: Authenticator, by: StoredCredential) -> WebauthnAssertion:
    options = request()
    return verify_request(PARTY, unbase64url(options["challenge"]), one.get(options), by)


# --- Options -----------------------------------------------------------------------------------------------------


def test_options_to_make_a_passkey():
    known = [KnownCredential(b"old", ("usb", "unheard of")), KnownCredential(b"older")]

    options = creation(known)

    assert len(unbase64url(options.pop("challenge"))) == 32
    assert options == {
        "rp": {"id": RP_ID, "name": "Example"},
        "user": {"id": base64url(str(USER.id).encode()), "name": "ada@example.org", "displayName": "Ada"},
        "pubKeyCredParams": [{"type": "public-key", "alg": each} for each in (-7, -8, -257)],
        "timeout": 300_000,
        "excludeCredentials": [
            {"id": base64url(b"old"), "type": "public-key", "transports": ["usb"]},
            {"id": base64url(b"older"), "type": "public-key"},
        ],
        "authenticatorSelection": {
            "residentKey": "required", "requireResidentKey": True, "userVerification": "preferred",
        },
        "attestation": "none",
    }  # fmt: skip


def test_options_to_make_a_factor_leave_room_on_the_key():
    selection = creation(is_passkey=False)["authenticatorSelection"]

    assert selection == {
        "residentKey": "discouraged",
        "requireResidentKey": False,
        "userVerification": "preferred",
    }


@pytest.mark.parametrize(
    ("user", "name", "shown"),
    [
        (AuthUser(UUID(int=1), phone="49123"), "49123", "49123"),
        (AuthUser(UUID(int=1)), str(UUID(int=1)), str(UUID(int=1))),
        (AuthUser(UUID(int=1), email="a@b.c", raw_user_meta_data={"name": "x" * 99}), "a@b.c", "x" * 64),
        (
            AuthUser(UUID(int=1), email="a@b.c", raw_user_meta_data={"full_name": 1, "name": ""}),
            "a@b.c",
            "a@b.c",
        ),
    ],
)
def test_everybody_has_a_name(user: AuthUser, name: str, shown: str):
    told = creation(user=user)["user"]

    assert (told["name"], told["displayName"]) == (name, shown)


def test_options_to_use_a_passkey_name_none():
    options = request()

    assert len(unbase64url(options.pop("challenge"))) == 32
    assert options == {
        "rpId": RP_ID, "timeout": 300_000, "allowCredentials": [], "userVerification": "preferred",
    }  # fmt: skip


def test_options_to_use_a_factor_name_it():
    assert request([KnownCredential(b"id", ("usb",))])["allowCredentials"] == [
        {"id": base64url(b"id"), "type": "public-key", "transports": ["usb"]}
    ]


def test_no_challenge_comes_twice():
    assert len({new_challenge() for _ in range(100)}) == 100


# --- Made --------------------------------------------------------------------------------------------------------


def test_a_new_credential_is_what_its_authenticator_says():
    one = Authenticator(
        flags=PRESENT | VERIFIED | ELIGIBLE | BACKED_UP, transports=["usb", "usb", "x", 1, None]
    )

    made = created(one)

    key = cbor2.dumps(cose_key(one.held[0].key))
    assert made == NewCredential(one.held[0].id, key, 1, ICLOUD, ("usb",), True, True, True)


def test_an_unverified_user_is_enough_for_verification_is_only_preferred():
    assert not created(Authenticator(flags=PRESENT)).is_user_verified


def test_an_attestation_is_not_looked_at():
    statement = {"fmt": "tpm", "attStmt": {"x5c": [b"no certificate"], "sig": b"none", "alg": -7}}

    assert created(Authenticator(attestation=statement)).aaguid == ICLOUD


def test_other_kinds_of_keys_may_be_registered():
    raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()

    assert created(Authenticator(public_key=cbor2.dumps({1: 1, 3: -8, -1: 6, -2: raw}))).public_key


_EC = cose_key(generate_private_key(SECP256R1()))
BAD_KEYS = {
    "off the curve": cbor2.dumps({**_EC, -2: bytes(31) + b"\x01"}),
    "another algorithm": cbor2.dumps({**_EC, 3: -36}),
    "a weak algorithm": cbor2.dumps({1: 3, 3: -65535, -1: b"\x01" * 256, -2: b"\x01\x00\x01"}),
    "no key": cbor2.dumps({}),
    "no map": cbor2.dumps([]),
    "numbers as bytes": cbor2.dumps({**_EC, -2: 5}),
    "unknown curve": cbor2.dumps({**_EC, -1: 99}),
    "too long": cbor2.dumps({**_EC, 99: bytes(4000)}),
    "a bomb": bomb(40),
    "a short RSA key": cbor2.dumps({1: 3, 3: -257, -1: b"\xff" * 128, -2: b"\x01\x00\x01"}),
    "short ed25519": cbor2.dumps({1: 1, 3: -8, -1: 6, -2: b"x"}),
    "something behind": cbor2.dumps(_EC) + b"\x00",
}


@pytest.mark.parametrize("name", BAD_KEYS)
def test_a_key_that_cannot_be_used_is_refused(name: str):
    with pytest.raises(Unverified):
        created(Authenticator(public_key=BAD_KEYS[name]))


MISBEHAVED = {
    "wrong origin": Authenticator(origin="https://evil.example"),
    "origin without its scheme": Authenticator(origin="app.example.com"),
    "wrong party": Authenticator(rp_id="evil.example"),
    "wrong challenge": Authenticator(challenge=b"x" * 32),
    "nobody present": Authenticator(flags=VERIFIED),
    "framed by others": Authenticator(client_data={"crossOrigin": True}),
    "other ceremony": Authenticator(type="payment.get"),
    "backed up, but not eligible": Authenticator(flags=PRESENT | BACKED_UP),
    "extensions missing": Authenticator(flags=PRESENT | HAS_EXTENSIONS),
}


@pytest.mark.parametrize("name", MISBEHAVED)
def test_a_new_credential_of_a_misbehaving_authenticator_is_refused(name: str):
    with pytest.raises(Unverified):
        created(replace(MISBEHAVED[name], held=[]))


def test_an_assertion_is_no_creation_nor_the_other_way_round():
    one = Authenticator()
    made = created(one)
    making, using = creation(), request()

    with pytest.raises(Unverified):
        verify_creation(PARTY, unbase64url(using["challenge"]), one.get(using))
    with pytest.raises(Unverified):
        verify_request(PARTY, unbase64url(making["challenge"]), one.create(making), kept(made))


@pytest.mark.parametrize(
    "changes",
    [
        {"id": base64url(b"another"), "rawId": base64url(b"another")},
        {"id": base64url(b"another")},
        {"type": "password"},
        {"authenticatorAttachment": "implanted"},
        {"response": None},
        {"response": {}},
        {"response": {"clientDataJSON": "", "attestationObject": ""}},
        {"response": {"clientDataJSON": "é", "attestationObject": "é"}},
        {"response": {"clientDataJSON": "A" * 70_000, "attestationObject": "A"}},
        {"id": 5},
    ],
)
def test_an_answer_that_was_changed_is_refused(changes: dict[str, Any]):
    with pytest.raises(Unverified):
        created(Authenticator(), **changes)


def test_a_too_long_id_is_refused():
    options = creation()
    answer = Authenticator().create(options, id=secrets.token_bytes(1024))

    with pytest.raises(Unverified, match="too long"):
        verify_creation(PARTY, unbase64url(options["challenge"]), answer)


def test_a_bomb_is_refused_and_not_unfolded():
    options = creation()
    answer = Authenticator().create(options)
    answer["response"]["attestationObject"] = base64url(bomb(200))

    with pytest.raises(Unverified):
        verify_creation(PARTY, unbase64url(options["challenge"]), answer)


# --- Used --------------------------------------------------------------------------------------------------------


def test_a_credential_is_used_and_its_counter_moves_on():
    one = Authenticator(flags=PRESENT | VERIFIED | ELIGIBLE)
    made = created(one)
    one.flags |= BACKED_UP

    assert used(one, kept(made)) == WebauthnAssertion(2, True, True)


def test_a_credential_without_a_counter_is_used_again_and_again():
    one = Authenticator(counts=False)
    made = created(one)

    assert used(one, kept(made)) == used(one, kept(made)) == WebauthnAssertion(0, False, True)


@pytest.mark.parametrize("count", [2, 3, 1000])
def test_a_counter_that_stands_or_goes_back_is_refused(count: int):
    one = Authenticator()
    by = replace(kept(created(one)), sign_count=count)

    with pytest.raises(Unverified, match="count"):
        used(one, by)


@pytest.mark.parametrize("name", MISBEHAVED)
def test_a_misbehaving_authenticator_cannot_use_its_credential(name: str):
    one = Authenticator()
    made = created(one)

    with pytest.raises(Unverified):
        used(replace(MISBEHAVED[name], held=one.held), kept(made))


def test_a_foreign_key_is_refused():
    one, other = Authenticator(), Authenticator()
    made = created(one)
    created(other)
    other.held[0].id = one.held[0].id

    with pytest.raises(Unverified):
        used(other, kept(made))


def test_a_credential_that_becomes_movable_is_refused():
    one = Authenticator()
    made = created(one)
    one.flags |= ELIGIBLE

    with pytest.raises(Unverified, match="backups"):
        used(one, kept(made))


def test_an_assertion_with_a_bomb_in_it_is_refused():
    one = Authenticator()
    made = created(one)
    options = request()
    answer = one.get(options)
    data = bytearray(unbase64url(answer["response"]["authenticatorData"]))
    data[32] |= HAS_CREDENTIAL
    answer["response"]["authenticatorData"] = base64url(bytes(data) + bytes(18) + bomb(60))

    with pytest.raises(Unverified):
        verify_request(PARTY, unbase64url(options["challenge"]), answer, kept(made))


def test_an_answer_says_whose_credential_it_is():
    one = Authenticator()
    created(one)
    answer = one.get(request())

    assert credential_id(answer) == one.held[0].id
    assert response_user_handle(answer) == user_handle(USER.id) == str(USER.id).encode()
    assert response_user_handle(answer | {"response": {}}) == b""


@pytest.mark.parametrize("id", [None, 5, "é", "A"])
def test_an_id_that_is_none_is_refused(id: object):
    with pytest.raises(Unverified):
        credential_id({"id": id})
    if id is not None:
        with pytest.raises(Unverified):
            response_user_handle({"response": {"userHandle": id}})


# --- Anything ----------------------------------------------------------------------------------------------------

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.binary(max_size=60).map(base64url),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_ONE = Authenticator()
_MAKING, _USING = creation(), request()
_MADE = verify_creation(PARTY, unbase64url(_MAKING["challenge"]), _ONE.create(_MAKING))
_ANSWERS = (_ONE.create(_MAKING), _ONE.get(_USING, _ONE.held[0]))


def _changed(answer: dict[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    if len(path) == 1:
        return {**answer, path[0]: value}
    return {**answer, path[0]: _changed(answer[path[0]], path[1:], value)}


@given(
    st.sampled_from(["id", "rawId", "type", "response", "authenticatorAttachment", "clientDataJSON", "attestationObject",
                     "authenticatorData", "signature", "userHandle", "transports"]),
    _json,
)  # fmt: skip
def test_any_member_may_be_anything(name: str, value: object):
    for answer in _ANSWERS:
        path = (name,) if name in answer else ("response", name)
        _judge(_changed(answer, path, value))


@given(st.binary(max_size=300), st.integers(0, 400))
def test_any_bytes_may_stand_in_an_attestation(data: bytes, at: int):
    whole = unbase64url(_ANSWERS[0]["response"]["attestationObject"])
    for told in (data, whole[:at] + data + whole[at + len(data) :]):
        _judge(_changed(_ANSWERS[0], ("response", "attestationObject"), base64url(told)))


@given(st.dictionaries(st.integers(-5, 5), st.integers() | st.binary(max_size=40) | st.text(max_size=5)))
def test_any_map_may_stand_for_a_key(key: dict[Any, Any]):
    one, options = Authenticator(public_key=cbor2.dumps({**_EC, **key})), creation()
    with suppress(Unverified):
        verify_creation(PARTY, unbase64url(options["challenge"]), one.create(options))


def _judge(answer: dict[str, Any]) -> None:
    """Judge an answer both ways: it is taken, or refused as unverified, and nothing else happens."""
    for judged in (
        lambda: verify_creation(PARTY, unbase64url(_MAKING["challenge"]), answer),
        lambda: verify_request(PARTY, unbase64url(_USING["challenge"]), answer, kept(_MADE)),
    ):
        with suppress(Unverified):
            judged()


def test_user_handles_are_those_of_one_user_only():
    assert user_handle(uuid4()) != user_handle(uuid4())
