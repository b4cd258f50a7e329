"""Password hashes: known vectors of every kind, costs, and what is refused. Reference, section 19."""

import base64
import contextlib
import hashlib

import argon2
import bcrypt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from workers.credentials.password_hashes import (
    Argon2Hash,
    BcryptHash,
    Cost,
    ScryptHash,
    UnreadableHash,
    Verdict,
    hash_password,
    read_hash,
    verify_password,
)

CHEAP = Cost(memory_kib=64, passes=1)
SALT = b"0123456789abcdef"

FIREBASE_KEY = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
FIREBASE_HASH = "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
FIREBASE = f"$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk={FIREBASE_KEY}$42xEC+ixf3L2lw==${FIREBASE_HASH}"


def scrypt_text(password: str, salt: bytes, power: int, r: int, p: int, length: int = 64) -> str:
    made = hashlib.scrypt(password.encode(), salt=salt, n=2**power, r=r, p=p, dklen=length, maxmem=1 << 28)
    coded = [base64.b64encode(each).rstrip(b"=").decode() for each in (salt, made)]
    return f"$scrypt$ln={power},r={r},p={p}${coded[0]}${coded[1]}"


VECTORS = [
    # the reference implementation of Argon2: salt "somesalt"
    ("password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"),
    ("password", "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"),
    ("password", "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8"),
    ("password", "$argon2i$v=16$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY"),
    # the test vectors of bcrypt's Openwall implementation
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    ("U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"),
    ("", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"),
    # the same with bits set at the end of salt and hash that mean nothing
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC/E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCCNE5YPO9kmyuRGyh0XouQYb4YMJKvyOeZ"),
    ("U*U", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    ("U*U", "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    # Firebase's own example
    ("user1password", FIREBASE),
    # RFC 7914, section 12: password "pleaseletmein", salt "SodiumChloride"
    (
        "pleaseletmein",
        "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$"
        "cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("password", "text"), VECTORS)
def test_known_vectors_verify_and_only_with_their_password(password: str, text: str) -> None:
    stored = read_hash(text)

    assert verify_password(password, stored, CHEAP).is_right
    assert not verify_password(password + "x", stored, CHEAP).is_right


def test_a_hash_of_ours_is_argon2id_at_the_cost_of_the_decision() -> None:
    text = hash_password("correct horse", Cost(), SALT)

    assert text.startswith("$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$")
    assert verify_password("correct horse", read_hash(text), Cost()) == Verdict(True, False)
    assert verify_password("correct hors", read_hash(text), Cost()) == Verdict(False, False)


@given(
    password=st.text(max_size=40),
    salt=st.binary(min_size=16, max_size=16),
    cost=st.builds(Cost, st.integers(8, 200), st.integers(1, 4), st.integers(1, 2)),
)
@settings(max_examples=60, deadline=None)
def test_our_hashes_are_those_of_the_reference_implementation(password: str, salt: bytes, cost: Cost) -> None:
    if cost.memory_kib < 8 * cost.lanes:
        cost = Cost(16, cost.passes, cost.lanes)
    secret = password.encode()
    text = hash_password(password, cost, salt)
    expected = argon2.low_level.hash_secret(
        secret, salt, cost.passes, cost.memory_kib, cost.lanes, 32, argon2.Type.ID
    )

    assert text == expected.decode()
    for length in (12, 16, 64):
        other = argon2.low_level.hash_secret(
            secret, salt, cost.passes, cost.memory_kib, cost.lanes, length, argon2.Type.ID
        ).decode()
        assert verify_password(password, read_hash(other), cost).is_right
        assert not verify_password(password + "x", read_hash(other), cost).is_right


@given(st.text(max_size=40))
@settings(max_examples=30, deadline=None)
def test_any_text_is_a_password_that_verifies(password: str) -> None:
    stored = read_hash(hash_password(password, CHEAP, SALT))

    assert verify_password(password, stored, CHEAP).is_right
    assert not verify_password(password + "\0", stored, CHEAP).is_right


def test_half_a_character_is_part_of_a_password() -> None:
    stored = read_hash(hash_password("a\ud83d", CHEAP, SALT))

    assert verify_password("a\ud83d", stored, CHEAP).is_right
    assert not verify_password("a", stored, CHEAP).is_right


def test_a_long_password_of_bcrypt_counts_as_far_as_bcrypt_looks() -> None:
    stored = read_hash(bcrypt.hashpw(b"x" * 72, bcrypt.gensalt(4)).decode())

    assert verify_password("x" * 100, stored, CHEAP).is_right
    assert not verify_password("x" * 71, stored, CHEAP).is_right


@pytest.mark.parametrize(
    ("text", "is_due"),
    [
        (hash_password("p", Cost(64, 2), SALT), False),
        (hash_password("p", Cost(128, 3), SALT), False),
        (hash_password("p", Cost(32, 2), SALT), True),
        (hash_password("p", Cost(64, 1), SALT), True),
        (hash_password("p", Cost(64, 2), b"8 bytes."), True),
        (argon2.PasswordHasher(2, 64, 1, type=argon2.Type.I).hash("p"), True),
        (argon2.PasswordHasher(2, 64, 1, hash_len=16).hash("p"), True),
        (bcrypt.hashpw(b"p", bcrypt.gensalt(4)).decode(), True),
        (scrypt_text("p", b"salt", 4, 8, 1), True),
    ],
)
def test_a_hash_below_the_setting_is_due_to_be_made_anew(text: str, is_due: bool) -> None:
    assert verify_password("p", read_hash(text), Cost(64, 2)) == Verdict(True, is_due)


def test_a_wrong_password_never_asks_for_a_new_hash() -> None:
    assert verify_password("wrong", read_hash(VECTORS[4][1]), Cost()) == Verdict(False, False)


def test_padding_and_the_other_alphabet_are_read() -> None:
    padded = VECTORS[0][1].replace("$nf65", "=$nf65") + "="
    url_safe = FIREBASE.replace("+", "-").replace("/", "_")

    assert verify_password("password", read_hash(padded), CHEAP).is_right
    assert verify_password("user1password", read_hash(url_safe), CHEAP).is_right


def test_kinds_are_told_apart() -> None:
    assert isinstance(read_hash(VECTORS[0][1]), Argon2Hash)
    assert isinstance(read_hash(VECTORS[4][1]), BcryptHash)
    firebase, plain = read_hash(FIREBASE), read_hash(VECTORS[-1][1])
    assert isinstance(firebase, ScryptHash)
    assert isinstance(plain, ScryptHash)
    assert (firebase.signer is None, plain.signer is None) == (False, True)


REFUSED = [
    "",
    "plaintest_password",
    "$argon2id$test",
    "$argon2d$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2id$v=19$m=1048577,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2id$v=19$m=999999999,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2id$v=19$m=256,t=21,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2id$v=19$m=256,t=0,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2i$v=19$m=0256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8",
    "$argon2id$v=19$m=256,t=2,p=17$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2id$v=19$m=7,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2id$v=19$m=256,t=2,p=1$c2FsdA$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHR$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOe",
    "$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
    "$2a$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
    "$2a$03$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
    "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW\n",
    "$fbscrypt$invalid",
    FIREBASE.replace("v=1", "v=2"),
    FIREBASE.replace("n=14", "n=31"),
    FIREBASE.replace("n=14,r=8", "n=20,r=99"),
    FIREBASE.replace("p=1", "p=17"),
    FIREBASE.replace("42xEC", "?2xEC"),
    "$scrypt$ln=16,r=1,p=1$c2FsdA$" + "A" * 43,
    "$scrypt$ln=14,r=8,p=1$c2FsdA$AAAA",
    "$scrypt$ln=14,r=8,p=1$c2FsdA$" + "A" * 900,
    "x" * 2000,
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_other_texts_and_costs_beyond_the_bounds_are_refused(text: str) -> None:
    with pytest.raises(UnreadableHash):
        read_hash(text)


STORED = [
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
    "$scrypt$ln=14,r=8,p=1$c2FsdA$" + "A" * 43,
    FIREBASE,
]


@given(
    near_text(STORED, ["$", ",", "=", "m=", "t=", "p=", "ln=", "$2y$", "argon2i", "ü"]) | st.text(max_size=60)
)
@settings(max_examples=400)
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UnreadableHash):
        assert isinstance(read_hash(text), Argon2Hash | BcryptHash | ScryptHash)


@pytest.mark.parametrize("text", [each for each in REFUSED if len(each) > 10])
def test_a_refusal_does_not_show_the_hash(text: str) -> None:
    with pytest.raises(UnreadableHash) as refused:
        read_hash(text)

    assert text[-10:] not in str(refused.value)


@pytest.mark.parametrize("text", [text for _, text in VECTORS])
def test_no_hash_shows_itself(text: str) -> None:
    shown = repr(read_hash(text))

    assert text[-20:] not in shown
    assert "salt=" not in shown
