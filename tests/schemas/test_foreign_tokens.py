"""Tokens of foreign issuers beside ours: `iss` chooses the keys, and no key reaches the tokens of somebody else."""

import base64
import hmac
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from schemas.caller import RejectedCaller, TokenFault, UserCaller
from schemas.keys.token_keys import Issuer, KeySet, read_published
from schemas.keys.tokens import Verifier, read_keys
from tests.fuzz.mutate import near_text

NOW = 1_800_000_000.0
SECRET = "the platform's own secret, long enough for HS256"
OURS, THEIRS, OTHERS = "https://ours.example/auth/v1", "https://theirs.example", "https://others.example/"
OWN_KEY, THEIR_KEY = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
OTHER_KEY = rsa.generate_private_key(65537, 2048)
NO_KEY = RejectedCaller(
    TokenFault.UNDECODABLE, "No suitable key or wrong key type", "None of the keys was able to decode the JWT"
)


def public(key: Any, **more: str) -> dict[str, Any]:
    kind: Any = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return {**kind.to_jwk(key.public_key(), as_dict=True), **more}


def published(*keys: dict[str, Any]) -> KeySet:
    return read_published(json.dumps({"keys": keys}))


def verifier(**options: Any) -> Verifier:
    own = read_keys(SECRET) + read_keys(json.dumps(public(OWN_KEY, kid="own", alg="ES256")))
    made = Verifier(own, **options)
    made.trust(
        {
            THEIRS: Issuer(published(public(THEIR_KEY, kid="theirs", alg="ES256"))),
            OTHERS: Issuer(published(public(OTHER_KEY, kid="others")), audience="app"),
        }
    )
    return made


def signed(issuer: str | None, key: Any, kid: str | None, algorithm: str = "ES256", **claims: Any) -> str:
    whole = {"sub": "1", "exp": int(NOW) + 60, **({} if issuer is None else {"iss": issuer}), **claims}
    return jwt.encode(whole, key, algorithm=algorithm, headers={"kid": kid} if kid else None)


def by_hand(header: dict[str, Any], payload: bytes, secret: bytes) -> str:
    """Sign with a shared secret, whatever a library would say of it."""
    parts = (json.dumps(header).encode(), payload)
    body = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    signature = hmac.digest(secret, body.encode(), "sha256")
    return f"{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_tokens_of_every_issuer_and_ours_are_taken() -> None:
    one = verifier()

    for token in (
        signed(THEIRS, THEIR_KEY, "theirs"),
        signed(OTHERS, OTHER_KEY, "others", "RS256", aud="app"),
        signed(OTHERS, OTHER_KEY, "others", "PS512", aud=["x", "app"]),
        signed(THEIRS, THEIR_KEY, None),
        signed(OURS, OWN_KEY, "own"),
        signed(None, OWN_KEY, "own"),
        signed(OURS, SECRET, None, "HS256"),
        signed("https://unknown.example", SECRET, None, "HS256"),
    ):
        assert isinstance(one.verify(token, NOW), UserCaller)


@pytest.mark.parametrize(
    ("issuer", "key", "kid"),
    [
        (OURS, THEIR_KEY, "theirs"),
        (OURS, THEIR_KEY, "own"),
        (None, THEIR_KEY, "theirs"),
        (THEIRS, OWN_KEY, "own"),
        (THEIRS, OWN_KEY, "theirs"),
        (OTHERS, THEIR_KEY, "theirs"),
        (OTHERS, THEIR_KEY, "others"),
        (OTHERS, THEIR_KEY, None),
        (THEIRS + "/", THEIR_KEY, "theirs"),
        (THEIRS.upper(), THEIR_KEY, "theirs"),
        (" " + THEIRS, THEIR_KEY, "theirs"),
        (OTHERS.rstrip("/"), THEIR_KEY, "theirs"),
    ],
)
def test_no_key_verifies_the_tokens_of_another_issuer(issuer: str | None, key: Any, kid: str | None) -> None:
    assert verifier().verify(signed(issuer, key, kid, aud="app"), NOW) == NO_KEY


def test_our_shared_secret_signs_nothing_for_a_foreign_issuer() -> None:
    assert verifier().verify(signed(THEIRS, SECRET, None, "HS256"), NOW) == NO_KEY
    assert verifier().verify(signed(THEIRS, SECRET, "theirs", "HS256"), NOW) == NO_KEY


@pytest.mark.parametrize("form", ["pem", "point", "jwk"])
@pytest.mark.parametrize("algorithm", ["HS256", "HS512"])
def test_a_public_key_is_no_shared_secret(form: str, algorithm: str) -> None:
    key = THEIR_KEY.public_key()
    secret = {
        "pem": key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "point": key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint),
        "jwk": json.dumps(public(THEIR_KEY)).encode(),
    }[form]
    payload = json.dumps({"iss": THEIRS, "role": "service_role"}).encode()

    assert verifier().verify(by_hand({"alg": algorithm, "kid": "theirs"}, payload, secret), NOW) == NO_KEY


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", None, ["ES256"], {"a": 1}])
def test_an_unsigned_token_of_an_issuer_is_refused(algorithm: object) -> None:
    token = by_hand({"alg": algorithm, "kid": "theirs"}, json.dumps({"iss": THEIRS}).encode(), b"x")

    for text in (token, token.rpartition(".")[0] + "."):
        found = verifier().verify(text, NOW)
        assert isinstance(found, RejectedCaller)
        assert found.message == "Wrong or unsupported encoding algorithm"


def test_the_algorithm_of_the_published_key_holds() -> None:
    pinned = Verifier(KeySet())
    pinned.trust({THEIRS: Issuer(published(public(OTHER_KEY, kid="k", alg="RS256")))})

    assert isinstance(pinned.verify(signed(THEIRS, OTHER_KEY, "k", "RS256"), NOW), UserCaller)
    assert pinned.verify(signed(THEIRS, OTHER_KEY, "k", "PS256"), NOW) == NO_KEY


def test_a_key_inside_of_the_token_is_not_looked_at() -> None:
    mine = ec.generate_private_key(ec.SECP256R1())
    headers = {"kid": "theirs", "jwk": public(mine), "jku": "https://evil.example/keys"}
    token = jwt.encode({"iss": THEIRS}, mine, algorithm="ES256", headers=headers)

    assert verifier().verify(token, NOW) == NO_KEY


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": int(NOW) - 3600}, "JWT expired"),
        ({"nbf": int(NOW) + 3600}, "JWT not yet valid"),
        ({"iat": int(NOW) + 3600}, "JWT issued at future"),
    ],
)
def test_times_hold_for_foreign_tokens(claims: dict[str, Any], message: str) -> None:
    found = verifier().verify(signed(THEIRS, THEIR_KEY, "theirs", **claims), NOW)

    assert found == RejectedCaller(TokenFault.CLAIMS, message)


@pytest.mark.parametrize("claims", [{}, {"aud": None}, {"aud": []}, {"aud": "x"}, {"aud": ["x"]}])
def test_where_an_issuer_has_an_audience_its_tokens_must_name_it(claims: dict[str, Any]) -> None:
    found = verifier().verify(signed(OTHERS, OTHER_KEY, "others", "RS256", **claims), NOW)

    assert found == RejectedCaller(TokenFault.CLAIMS, "JWT not in audience")


def test_the_audience_of_the_area_holds_for_issuers_without_one() -> None:
    one = verifier(audience="authenticated")

    assert isinstance(one.verify(signed(THEIRS, THEIR_KEY, "theirs", aud="other"), NOW), RejectedCaller)
    assert isinstance(one.verify(signed(THEIRS, THEIR_KEY, "theirs", aud="authenticated"), NOW), UserCaller)
    assert isinstance(one.verify(signed(OTHERS, OTHER_KEY, "others", "RS256", aud="app"), NOW), UserCaller)


@pytest.mark.parametrize(
    "payload",
    [b'{"iss":"%s","iss":"%s"}' % (THEIRS.encode(), OURS.encode()), b'{"iss":["%s"]}' % THEIRS.encode()],
)
def test_a_token_with_two_issuers_or_a_list_has_no_keys_of_theirs(payload: bytes) -> None:
    token = jwt.api_jws.PyJWS().encode(payload, THEIR_KEY, algorithm="ES256", headers={"kid": "theirs"})

    assert isinstance(verifier().verify(token, NOW), RejectedCaller)


def test_an_issuer_whose_keys_are_not_known_yet_has_its_tokens_refused_as_unverified() -> None:
    waiting = Verifier(read_keys(SECRET))
    waiting.trust({THEIRS: Issuer()})

    assert waiting.verify(signed(THEIRS, THEIR_KEY, "theirs"), NOW) == NO_KEY
    assert waiting.lacking(signed(THEIRS, THEIR_KEY, "theirs")) == THEIRS


def test_foreign_tokens_are_taken_where_we_have_no_key_of_our_own() -> None:
    keyless = Verifier(KeySet())
    keyless.trust({THEIRS: Issuer(published(public(THEIR_KEY, kid="theirs")))})

    assert isinstance(keyless.verify(signed(THEIRS, THEIR_KEY, "theirs"), NOW), UserCaller)
    assert keyless.verify(signed(OURS, THEIR_KEY, "theirs"), NOW) == RejectedCaller(
        TokenFault.NO_SECRET, "Server lacks JWT secret"
    )


def test_foreign_tokens_are_kept_and_dropped_with_their_keys() -> None:
    one = verifier()
    token = signed(THEIRS, THEIR_KEY, "theirs")
    first = one.verify(token, NOW)
    assert one.verify(token, NOW) is first

    one.trust({THEIRS: Issuer(published(public(OTHER_KEY, kid="new")))})
    assert one.verify(token, NOW) == NO_KEY

    one.trust({})
    assert one.verify(token, NOW) == NO_KEY


def test_our_tokens_are_dropped_with_our_keys() -> None:
    one = verifier()
    token = signed(OURS, OWN_KEY, "own")
    assert isinstance(one.verify(token, NOW), UserCaller)

    one.use(read_keys(SECRET))

    assert one.verify(token, NOW) == NO_KEY
    assert isinstance(one.verify(signed(THEIRS, THEIR_KEY, "theirs"), NOW), UserCaller)


@pytest.mark.parametrize(
    ("token", "issuer"),
    [
        (signed(THEIRS, THEIR_KEY, "theirs"), None),
        (signed(THEIRS, THEIR_KEY, "new"), THEIRS),
        (signed(THEIRS, THEIR_KEY, "others"), THEIRS),
        (signed(OTHERS, OTHER_KEY, "own", "RS256"), OTHERS),
        (signed(OURS, OWN_KEY, "own"), None),
        (signed(OURS, OWN_KEY, "new"), ""),
        (signed(OURS, SECRET, None, "HS256"), None),
        (signed(None, OWN_KEY, "theirs"), ""),
        ("", None),
        ("a.b.c", None),
        ("..", None),
        ("ключ.ключ.ключ", None),
    ],
)
def test_a_refused_token_tells_whose_keys_may_have_changed(token: str, issuer: str | None) -> None:
    assert verifier().lacking(token) == issuer


part = st.binary(max_size=30).map(lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode())
ALL = verifier()
VALID = [
    signed(THEIRS, THEIR_KEY, "theirs"),
    signed(OTHERS, OTHER_KEY, "others", "RS256", aud="app"),
    signed(OURS, OWN_KEY, "own"),
    signed(OURS, SECRET, None, "HS256"),
    signed(THEIRS, THEIR_KEY, "new"),
]


@given(
    near_text(VALID, [".", "eyJ", "bnVsbA", "e30", "="])
    | st.tuples(part, part | st.just("eyJpc3MiOiJ4In0"), part).map(".".join)
)
@settings(max_examples=300)
def test_any_text_near_a_token_is_refused_and_lacks_nothing_or_a_key(text: str) -> None:
    verified, lacking = ALL.verify(text, NOW), ALL.lacking(text)

    assert isinstance(verified, RejectedCaller) or text.rpartition(".")[0] in {
        one.rpartition(".")[0] for one in VALID
    }
    assert lacking in (None, "", THEIRS, OTHERS)
