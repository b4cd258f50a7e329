"""Access tokens: which are taken, and the words for those that are not. Source: reference page "rest", section 5."""

import base64
import contextlib
import hmac
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from schemas.caller import RejectedCaller, TokenFault, UserCaller
from schemas.keys.tokens import SKEW_S, Key, KeySet, Verifier, read_keys
from tests.fuzz.mutate import near_text

SECRET = "the secret of these tests, long enough for HS512 and all the others"
NOW = 1_800_000_000.0
NO_KEY = RejectedCaller(
    TokenFault.UNDECODABLE,
    "No suitable key or wrong key type",
    "None of the keys was able to decode the JWT",
)
UNREADABLE = RejectedCaller(TokenFault.UNDECODABLE, "JWT cryptographic operation failed")
UNSUPPORTED = RejectedCaller(TokenFault.UNDECODABLE, "Wrong or unsupported encoding algorithm")
RSA = rsa.generate_private_key(65537, 2048)
OTHER_RSA = rsa.generate_private_key(65537, 2048)
CURVES = {
    name: ec.generate_private_key(curve())
    for name, curve in (("ES256", ec.SECP256R1), ("ES384", ec.SECP384R1), ("ES512", ec.SECP521R1))
}
EDWARDS = ed25519.Ed25519PrivateKey.generate()
SIGNERS: dict[str, Any] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), RSA),
    **CURVES,
    "EdDSA": EDWARDS,
}


def jwk(key: Any, **more: str) -> dict[str, object]:
    """Give a key as a JWK: with its private half if it has one."""
    kinds: dict[str, Any] = {"rsa": RSAAlgorithm, "ec": ECAlgorithm, "ed": OKPAlgorithm}
    kind = next(each for name, each in kinds.items() if name in type(key).__name__.lower())
    return {**kind.to_jwk(key, as_dict=True), **more}


def public(key: Any, **more: str) -> dict[str, object]:
    return jwk(key.public_key(), **more)


def keys(*entries: dict[str, object]) -> KeySet:
    return read_keys(json.dumps({"keys": entries}))


def signed(claims: dict[str, object], key: Any = SECRET, algorithm: str = "HS256", **headers: object) -> str:
    return jwt.encode(claims, key, algorithm=algorithm, headers=headers or None)


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def token(payload: bytes, header: bytes = b'{"alg":"HS256"}', secret: bytes = SECRET.encode()) -> str:
    """Sign any bytes as payload, under any bytes as header."""
    body = f"{encoded(header)}.{encoded(payload)}"
    return f"{body}.{encoded(hmac.digest(secret, body.encode(), 'sha256'))}"


def verifier(**options: Any) -> Verifier:
    return Verifier(read_keys(SECRET), **options)


def claims_refused(message: str) -> RejectedCaller:
    return RejectedCaller(TokenFault.CLAIMS, message)


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize(
    "given_as",
    [
        lambda: read_keys(SECRET),
        lambda: read_keys(base64.b64encode(SECRET.encode()).decode(), is_base64=True),
        lambda: read_keys(encoded(SECRET.encode()), is_base64=True),
        lambda: read_keys(json.dumps({"kty": "oct", "k": encoded(SECRET.encode())})),
        lambda: keys({"kty": "oct", "k": encoded(SECRET.encode())}),
        lambda: read_keys(json.dumps([{"kty": "oct", "k": encoded(SECRET.encode())}])),
    ],
    ids=["text", "base64", "base64url", "jwk", "jwk set", "list of jwks"],
)
def test_a_secret_in_any_form_verifies_its_tokens(given_as: Any, algorithm: str) -> None:
    claims: dict[str, object] = {"role": "reader", "sub": "ada"}

    verified = Verifier(given_as()).verify(signed(claims, algorithm=algorithm), NOW)

    assert isinstance(verified, UserCaller)
    assert verified.decoded() == claims


@pytest.mark.parametrize("half", [public, jwk], ids=["public", "private"])
@pytest.mark.parametrize("algorithm", SIGNERS)
def test_a_jwk_verifies_what_its_private_half_signed(algorithm: str, half: Any) -> None:
    key = SIGNERS[algorithm]
    text = signed({"role": "reader"}, key, algorithm)

    for entry in (half(key), half(key, alg=algorithm)):
        assert Verifier(keys(entry)).verify(text, NOW) == UserCaller(b'{"role":"reader"}')


def test_a_key_for_one_algorithm_is_not_used_for_another() -> None:
    text = signed({}, RSA, "RS256")

    assert Verifier(keys(public(RSA, alg="PS256"))).verify(text, NOW) == NO_KEY


@pytest.mark.parametrize("algorithm", sorted({*SIGNERS, "HS256"} - {"ES256"}))
def test_a_token_under_the_algorithm_of_another_kind_of_key_is_refused(algorithm: str) -> None:
    text = signed({}, SIGNERS.get(algorithm, SECRET), algorithm)

    assert Verifier(keys(public(CURVES["ES256"]))).verify(text, NOW) == NO_KEY


def test_the_key_of_the_token_s_kid_is_the_only_one_tried() -> None:
    both = Verifier(keys(public(RSA, kid="one"), public(OTHER_RSA, kid="two")))

    assert isinstance(both.verify(signed({}, OTHER_RSA, "RS256", kid="two"), NOW), UserCaller)
    assert both.verify(signed({}, OTHER_RSA, "RS256", kid="one"), NOW) == NO_KEY
    assert both.verify(signed({}, OTHER_RSA, "RS256", kid="three"), NOW) == NO_KEY


def test_every_key_is_tried_for_a_token_without_kid() -> None:
    both = Verifier(keys(public(RSA, kid="one"), public(OTHER_RSA, kid="two")))

    assert isinstance(both.verify(signed({}, OTHER_RSA, "RS256"), NOW), UserCaller)


def test_keys_without_an_id_are_tried_for_a_token_with_an_unknown_kid() -> None:
    mixed = Verifier(read_keys(SECRET) + keys(public(RSA, kid="one")))

    assert isinstance(mixed.verify(signed({}, kid="unknown"), NOW), UserCaller)
    assert mixed.verify(signed({}, RSA, "RS256", kid="unknown"), NOW) == NO_KEY
    assert isinstance(mixed.verify(signed({}, RSA, "RS256", kid="one"), NOW), UserCaller)


def test_a_public_key_is_never_taken_for_a_secret() -> None:
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    secrets = (pem, json.dumps(public(RSA)).encode(), b"")
    forged = [token(b'{"role":"service_role"}', secret=secret) for secret in secrets]

    for entry in (public(RSA), public(RSA, alg="RS256"), public(RSA, kid="one")):
        assert [Verifier(keys(entry)).verify(text, NOW) for text in forged] == [NO_KEY] * 3


@pytest.mark.parametrize(
    ("header", "refusal"),
    [
        (b'{"alg":"none"}', RejectedCaller(TokenFault.UNDECODABLE, "Wrong or unsupported encoding algorithm", "JWT is unsecured but expected 'alg' was not 'none'")),
        (b'{"alg":"None"}', UNSUPPORTED),
        (b'{"alg":"HS1"}', UNSUPPORTED),
        (b'{"alg":["HS256"]}', UNSUPPORTED),
        (b'{"alg":{}}', UNSUPPORTED),
        (b'{"alg":null}', UNSUPPORTED),
        (b"{}", UNSUPPORTED),
        (b"[]", UNREADABLE),
        (b'"HS256"', UNREADABLE),
        (b"", UNREADABLE),
        (b"not json", UNREADABLE),
        (b"\xff\xfe\xfd", UNREADABLE),
        (b"[" * 100_000, UNREADABLE),
        (b'{"alg":"HS256","x":' + b"1" * 5000 + b"}", UNREADABLE),
        (b'{"alg":"RS256"}', NO_KEY),
        (b'{"alg":"HS256","kid":5}', NO_KEY),
        (b'{"alg":"HS256","kid":["x"]}', NO_KEY),
        (b'{"alg":"HS256","crit":["exp"]}', NO_KEY),
        (b'{"alg":"HS256","b64":false,"crit":["b64"]}', NO_KEY),
    ],
)  # fmt: skip
def test_a_token_whose_header_cannot_be_used_is_refused(header: bytes, refusal: RejectedCaller) -> None:
    assert verifier().verify(token(b'{"role":"service_role"}', header), NOW) == refusal


GOOD = signed({"role": "reader"})


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", RejectedCaller(TokenFault.UNDECODABLE, "Empty JWT is sent in Authorization header")),
        ("x", RejectedCaller(TokenFault.UNDECODABLE, "Expected 3 parts in JWT; got 1")),
        ("a.b", RejectedCaller(TokenFault.UNDECODABLE, "Expected 3 parts in JWT; got 2")),
        (GOOD + ".x", RejectedCaller(TokenFault.UNDECODABLE, "Expected 3 parts in JWT; got 4")),
        ("." * 100_000, RejectedCaller(TokenFault.UNDECODABLE, "Expected 3 parts in JWT; got 100001")),
        ("..", UNREADABLE),
        ("a.b.c", UNREADABLE),
        (GOOD + "\n", UNREADABLE),
        (" " + GOOD, UNREADABLE),
        (GOOD + "é", UNREADABLE),
        (GOOD + "\udcff", UNREADABLE),
        ("ü.ü.ü", UNREADABLE),
        (GOOD.replace(".", ".*", 1), UNREADABLE),
        (GOOD + "****", UNREADABLE),
        (GOOD + "A", NO_KEY),
        (GOOD[:-8], NO_KEY),
        (GOOD.rpartition(".")[0] + ".", NO_KEY),
        (GOOD.replace(GOOD.split(".")[1], encoded(b'{"role":"admin"}')), NO_KEY),
        (signed({}, "another secret, just as long as the one of these tests"), NO_KEY),
    ],
)
def test_a_text_that_is_no_token_of_ours_is_refused(text: str, refusal: RejectedCaller) -> None:
    assert verifier().verify(text, NOW) == refusal


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"null", b"5", b'"text"', b"[]", b"{", b"{} x", b"not json", b"\xff", b'{"a":"\xff"}', b'{"a":"\\ud800"}',
        b'{"exp":NaN}', b'{"exp":1e999}', b"\xef\xbb\xbf{}", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)  # fmt: skip
def test_claims_that_are_no_json_object_are_refused(payload: bytes) -> None:
    assert verifier().verify(token(payload), NOW) == claims_refused("Parsing claims failed")


@pytest.mark.parametrize(
    "payload",
    [b"{}", b' { "role" : null } ', b'{"role":5,"x":{"y":[1]}}', '{"name":"Åsa"}'.encode(), b'{"exp":null,"nbf":null}'],
)  # fmt: skip
def test_claims_are_given_byte_for_byte(payload: bytes) -> None:
    assert verifier().verify(token(payload), NOW) == UserCaller(payload)


def test_a_token_of_a_hundred_kilobytes_is_verified_and_not_kept() -> None:
    payload = json.dumps({"text": "x" * 100_000}).encode()
    one = verifier()

    assert one.verify(token(payload), NOW) == UserCaller(payload)
    assert kept(one) == 0


EXPIRED, EARLY, FUTURE = "JWT expired", "JWT not yet valid", "JWT issued at future"


@pytest.mark.parametrize(
    ("payload", "refusal"),
    [
        (f'{{"exp":{NOW + 60:.0f}}}', None),
        (f'{{"exp":{NOW + 0.5}}}', None),
        (f'{{"exp":{NOW - SKEW_S:.0f}}}', None),
        (f'{{"exp":{NOW - SKEW_S - 0.5}}}', EXPIRED),
        (f'{{"exp":{NOW - SKEW_S - 1:.0f}}}', EXPIRED),
        ('{"exp":0}', EXPIRED),
        ('{"exp":-1}', EXPIRED),
        ('{"exp":-1e300}', EXPIRED),
        (f'{{"exp":-{"9" * 400}}}', EXPIRED),
        ('{"exp":1e300}', None),
        (f'{{"exp":{"9" * 30}}}', None),
        (f'{{"exp":{"9" * 400}}}', None),
        ('{"exp":"9999999999"}', "The JWT 'exp' claim must be a number"),
        ('{"exp":true}', "The JWT 'exp' claim must be a number"),
        ('{"exp":[9999999999]}', "The JWT 'exp' claim must be a number"),
        ('{"exp":{}}', "The JWT 'exp' claim must be a number"),
        (f'{{"nbf":{NOW + SKEW_S:.0f}}}', None),
        (f'{{"nbf":{NOW + SKEW_S + 1:.0f}}}', EARLY),
        (f'{{"nbf":{"9" * 400}}}', EARLY),
        (f'{{"nbf":-{"9" * 400}}}', None),
        ('{"nbf":"0"}', "The JWT 'nbf' claim must be a number"),
        (f'{{"iat":{NOW + SKEW_S:.0f}}}', None),
        (f'{{"iat":{NOW + SKEW_S + 1:.0f}}}', FUTURE),
        ('{"iat":false}', "The JWT 'iat' claim must be a number"),
        ('{"exp":0,"nbf":9999999999,"iat":9999999999}', EXPIRED),
        ('{"nbf":9999999999,"iat":9999999999}', EARLY),
        ('{"exp":0,"nbf":"x"}', EXPIRED),
        ('{"iat":9999999999,"aud":5}', FUTURE),
    ],
)
def test_times_are_numbers_and_may_be_half_a_minute_off(payload: str, refusal: str | None) -> None:
    expected = UserCaller(payload.encode()) if refusal is None else claims_refused(refusal)

    assert verifier().verify(token(payload.encode()), NOW) == expected


ILL_TYPED, ELSEWHERE = "The JWT 'aud' claim must be a string or an array of strings", "JWT not in audience"


@pytest.mark.parametrize(
    ("claim", "of_any", "of_ours"),
    [
        ("", None, None),
        ('"aud":null', None, None),
        ('"aud":[]', None, None),
        ('"aud":"ours"', None, None),
        ('"aud":["theirs","ours"]', None, None),
        ('"aud":"theirs"', None, ELSEWHERE),
        ('"aud":["theirs"]', None, ELSEWHERE),
        ('"aud":"our"', None, ELSEWHERE),
        ('"aud":""', None, ELSEWHERE),
        ('"aud":5', ILL_TYPED, ILL_TYPED),
        ('"aud":{"ours":1}', ILL_TYPED, ILL_TYPED),
        ('"aud":["ours",5]', ILL_TYPED, ILL_TYPED),
    ],
)
def test_the_audience_is_ours_where_one_is_demanded(
    claim: str, of_any: str | None, of_ours: str | None
) -> None:
    payload = f"{{{claim}}}".encode()

    for audience, refusal in ((None, of_any), ("ours", of_ours)):
        expected = UserCaller(payload) if refusal is None else claims_refused(refusal)
        assert verifier(audience=audience).verify(token(payload), NOW) == expected


def test_without_a_key_every_well_formed_token_is_refused_as_ours_to_mend() -> None:
    empty = Verifier(read_keys(""))

    assert empty.verify(GOOD, NOW) == RejectedCaller(TokenFault.NO_SECRET, "Server lacks JWT secret")
    assert isinstance(empty.verify("", NOW), RejectedCaller)
    assert empty.verify("a.b", NOW) == RejectedCaller(
        TokenFault.UNDECODABLE, "Expected 3 parts in JWT; got 2"
    )


def test_a_short_secret_of_the_platform_still_verifies() -> None:
    short = "sixteen letters!"
    text = token(b"{}", secret=short.encode())

    assert Verifier(read_keys(short)).verify(text, NOW) == UserCaller(b"{}")


def kept(one: Verifier) -> int:
    return len(one._cache)


def test_a_verified_token_is_kept_and_given_again() -> None:
    one = verifier()
    first = one.verify(GOOD, NOW)

    assert one.verify(GOOD, NOW + 5) is first
    assert kept(one) == 1


def test_a_kept_token_is_refused_once_it_is_expired() -> None:
    one = verifier()
    text = signed({"exp": int(NOW)})

    assert isinstance(one.verify(text, NOW), UserCaller)
    assert isinstance(one.verify(text, NOW + SKEW_S), UserCaller)
    assert one.verify(text, NOW + SKEW_S + 0.001) == claims_refused(EXPIRED)


@pytest.mark.parametrize(("claim", "refusal"), [("nbf", EARLY), ("iat", FUTURE)])
def test_a_kept_token_is_refused_when_the_clock_was_set_back(claim: str, refusal: str) -> None:
    one = verifier()
    text = signed({claim: int(NOW)})

    assert isinstance(one.verify(text, NOW), UserCaller)
    assert one.verify(text, NOW - SKEW_S - 1) == claims_refused(refusal)


def test_refused_tokens_are_not_kept() -> None:
    one = verifier()
    for text in ("", "a.b.c", GOOD + "A", signed({"exp": 0}), signed({"nbf": NOW + 1000})):
        one.verify(text, NOW)

    assert kept(one) == 0


def test_the_oldest_kept_token_makes_room() -> None:
    one = verifier(max_entries=3)
    texts = [signed({"sub": str(number)}) for number in range(5)]

    first = [one.verify(text, NOW) for text in texts]

    assert kept(one) == 3
    assert [one.verify(text, NOW) is user for text, user in zip(texts[2:], first[2:], strict=True)] == [
        True
    ] * 3
    assert one.verify(texts[0], NOW) == first[0]
    assert kept(one) == 3


@pytest.mark.parametrize("entries", [0, -1])
def test_nothing_is_kept_where_nothing_may_be(entries: int) -> None:
    one = verifier(max_entries=entries)

    assert isinstance(one.verify(GOOD, NOW), UserCaller)
    assert kept(one) == 0


def test_forgetting_has_tokens_verified_anew() -> None:
    one = verifier()
    first = one.verify(GOOD, NOW)

    one.forget()

    assert kept(one) == 0
    again = one.verify(GOOD, NOW)
    assert again == first
    assert again is not first


MINE = "bXkgb3duIHNlY3JldCwgd2hpY2ggbm9ib2R5IG1heSBzZWU"
"""A secret that no refusal may show."""
BAD_KEYS = {
    f'{{"{MINE}': "the JWK or JWK set is not valid JSON",
    f'{{"{MINE}":' * 20_000: "the JWK or JWK set is not valid JSON",
    f'["{MINE}"]': "a JWK set is an object with a list `keys`, or a list of keys",
    f'{{"keys":"{MINE}"}}': "a JWK set is an object with a list `keys`, or a list of keys",
    "{}": "key 1 cannot be used: `kty` must be one of oct, RSA, EC, OKP",
    f'{{"kty":["oct"],"k":"{MINE}"}}': "key 1 cannot be used: `kty` must be one of oct, RSA, EC, OKP",
    f'{{"kty":"{MINE}","k":"{MINE}"}}': "key 1 cannot be used: `kty` must be one of oct, RSA, EC, OKP",
    '{"kty":"oct"}': "key 1 cannot be used: it is no valid key of kind oct",
    '{"kty":"oct","k":""}': "key 1 cannot be used: it is no valid key of kind oct",
    '{"kty":"oct","k":5}': "key 1 cannot be used: it is no valid key of kind oct",
    f'{{"kty":"oct","k":"{MINE}","alg":"{MINE}"}}': "key 1 cannot be used: `alg` of a key of kind oct must be one of HS256, HS384, HS512",
    f'{{"kty":"oct","k":"{MINE}","alg":"RS256"}}': "key 1 cannot be used: `alg` of a key of kind oct must be one of HS256, HS384, HS512",
    f'[{{"kty":"oct","k":"{MINE}"}},{{"kty":"RSA","n":"{MINE}"}}]': "key 2 cannot be used: it is no valid key of kind RSA",
    f'{{"kty":"RSA","n":"{MINE}","e":"AQAB"}}': "key 1 cannot be used: an RSA key must have 2048 bits or more",
    '{"kty":"RSA","n":5,"e":[]}': "key 1 cannot be used: it is no valid key of kind RSA",
    f'{{"kty":"EC","crv":"{MINE}","x":"{MINE}","y":"{MINE}"}}': "key 1 cannot be used: it is no valid key of kind EC",
    f'{{"kty":"EC","crv":"P-256","x":"{MINE}","y":"{MINE}"}}': "key 1 cannot be used: it is no valid key of kind EC",
    f'{{"kty":"OKP","crv":"X25519","x":"{MINE}"}}': "key 1 cannot be used: it is no valid key of kind OKP",
    f"-----BEGIN PUBLIC KEY-----\n{MINE}": "a key in PEM form is not read; give it as a JWK",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD_KEYS, ids=range(len(BAD_KEYS)))
def test_keys_that_cannot_be_used_are_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read_keys(text)

    assert str(caught.value) == BAD_KEYS[text]
    assert MINE not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("****", "the secret is not valid base64"),
        ("ü", "the secret is not valid base64"),
        ("A", "the secret is not valid base64"),
        ("AA=A", "the secret is not valid base64"),
        ("=", "the secret is empty"),
    ],
)
def test_a_secret_that_is_no_base64_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        read_keys(text, is_base64=True)


@pytest.mark.parametrize(
    ("text", "binary"),
    [
        ("-_-_", b"\xfb\xff\xbf"),
        ("+/+/", b"\xfb\xff\xbf"),
        ("YQ", b"a"),
        ("YQ==\n", b"a"),
        ("YW\nJj", b"abc"),
    ],
)
def test_base64_is_read_in_both_alphabets_with_padding_or_without(text: str, binary: bytes) -> None:
    assert read_keys(text, is_base64=True).keys[0].material == binary


def test_no_key_is_read_from_an_empty_text_or_set() -> None:
    assert [read_keys(text) for text in ("", "[]", '{"keys":[]}')] == [KeySet()] * 3


def test_keys_for_encryption_are_passed_over() -> None:
    found = keys(
        {"kty": "RSA", "alg": "RSA-OAEP", "use": "enc"}, public(RSA, kid="mine", use="sig", alg="RS256")
    )

    assert [(key.id, key.algorithms) for key in found.keys] == [("mine", ("RS256",))]


def test_only_the_public_half_of_an_rsa_key_is_kept() -> None:
    [key] = keys(jwk(RSA)).keys

    assert isinstance(key.material, rsa.RSAPublicKey)


def test_no_key_shows_in_a_representation() -> None:
    found = read_keys(json.dumps({"kty": "oct", "k": MINE, "kid": "mine"}))

    assert repr(found) == "KeySet(keys=(Key(id='mine', algorithms=('HS256', 'HS384', 'HS512')),))"
    assert repr(Key(b"secret", ("HS256",))) == "Key(id=None, algorithms=('HS256',))"


ALL = Verifier(
    read_keys(SECRET) + keys(public(RSA), public(EDWARDS, kid="one"), *map(public, CURVES.values()))
)
part = st.binary(max_size=30).map(encoded) | st.text(max_size=10)


VALID = [
    signed({"sub": "1", "exp": NOW + 60}),
    *(signed({"sub": "1", "exp": NOW + 60}, key, name) for name, key in SIGNERS.items()),
    signed({"role": "anon"}, EDWARDS, "EdDSA", kid="one"),
]


@given(near_text(VALID, [".", "eyJ", "bnVsbA", "e30", "="]) | st.tuples(part, part, part).map(".".join))
@settings(max_examples=400)
def test_any_text_near_a_token_is_refused(text: str) -> None:
    verified = ALL.verify(text, NOW)

    if isinstance(verified, RejectedCaller):
        assert verified.kind is TokenFault.UNDECODABLE
    else:  # not one sign of what is signed may differ; of a signature, the bits that base64 does not use
        assert text.rpartition(".")[0] in {each.rpartition(".")[0] for each in VALID}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
names = st.sampled_from(["exp", "nbf", "iat", "aud", "role", "sub", "kid", "alg"]) | st.text(max_size=5)


@given(st.dictionaries(names, anything, max_size=5), st.floats(0, 1e12))
def test_any_signed_claims_are_given_or_refused_for_what_they_say(
    claims: dict[str, object], now: float
) -> None:
    text = token(json.dumps(claims).encode())

    verified = ALL.verify(text, now)

    assert ALL.verify(text, now) == verified
    if isinstance(verified, UserCaller):
        assert json.loads(verified.claims) == claims
        assert claims.get("exp") is None or float(str(claims["exp"])) + SKEW_S >= now
    else:
        assert verified.kind is TokenFault.CLAIMS


@given(st.dictionaries(names, anything, max_size=4))
def test_any_header_is_refused_or_taken_without_harm(header: dict[str, object]) -> None:
    verified = ALL.verify(token(b"{}", json.dumps({"alg": "HS256", **header}).encode()), NOW)

    assert isinstance(verified, UserCaller) or verified.kind is TokenFault.UNDECODABLE


jwk_members = st.fixed_dictionaries(
    {"kty": st.sampled_from(["oct", "RSA", "EC", "OKP"])},
    optional={
        **dict.fromkeys(("k", "n", "e", "d", "x", "y", "p", "q"), part | anything),
        "crv": st.sampled_from(["P-256", "P-384", "P-521", "Ed25519", "Ed448", "secp256k1"]),
        "alg": st.sampled_from(["HS256", "RS256", "ES256", "EdDSA", "none"]),
        "use": st.sampled_from(["sig", "enc"]),
        "kid": anything,
    },
)


KEYS = [
    json.dumps({"keys": [public(RSA), public(EDWARDS, kid="one"), *map(public, CURVES.values())]}),
    json.dumps(jwk(CURVES["ES256"], alg="ES256", use="sig")),
    json.dumps({"kty": "oct", "k": encoded(b"k" * 40), "kid": "mine"}),
]


@given(
    near_text(KEYS, ['"kty"', '"oct"', '"RSA"', '"n":', '"k":', '"crv":', "[]", "null"])
    | st.lists(jwk_members, max_size=2).map(json.dumps) | anything.map(json.dumps) | st.text(max_size=30),
    st.booleans(),
)  # fmt: skip
@settings(max_examples=300)
def test_any_text_is_a_key_or_refused(text: str, is_base64: bool) -> None:
    with contextlib.suppress(ValueError):
        found = read_keys(text, is_base64=is_base64)

        assert isinstance(Verifier(found).verify(GOOD, NOW), RejectedCaller)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"])
def test_a_header_is_utf_8(encoding: str) -> None:
    header = '{"alg":"HS256","x":"é"}'
    good = token(b'{"role":"anon"}', header.encode())

    assert isinstance(verifier().verify(good, NOW), UserCaller)
    assert verifier().verify(token(b'{"role":"anon"}', header.encode(encoding)), NOW) == UNREADABLE


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("padding", ["=", "=="])
def test_base64url_has_no_padding(part: int, padding: str) -> None:
    """A token that is spelled in two ways could be blocked in one and pass in the other (RFC 7515, 2)."""
    parts = token(b'{"role":"anon"}').split(".")
    parts[part] += padding

    assert verifier().verify(".".join(parts), NOW) == UNREADABLE
