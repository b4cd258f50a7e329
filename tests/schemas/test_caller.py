import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, TokenFault, UserCaller

CALLERS: list[Caller] = [
    AnonymousCaller(),
    ServiceCaller(),
    UserCaller(b'{"role":"reader"}'),
    RejectedCaller(TokenFault.CLAIMS, "JWT expired"),
    RejectedCaller(TokenFault.UNDECODABLE, "message", "details"),
]


@pytest.mark.parametrize("caller", CALLERS)
def test_a_caller_arrives_as_the_kind_it_was_sent_as(caller: Caller) -> None:
    arrived = msgspec.msgpack.decode(msgspec.msgpack.encode(caller), type=Caller)

    assert arrived == caller
    assert type(arrived) is type(caller)


@pytest.mark.parametrize("kind", ["Anonymous", "admin", "", None, 1])
def test_a_kind_of_caller_that_there_is_not_is_refused(kind: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode({"type": kind}), type=Caller)


def test_a_caller_without_a_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode({"claims": b"{}"}), type=Caller)


def test_the_values_of_refusals_are_stable() -> None:
    assert {each.name: each.value for each in TokenFault} == {
        "NO_SECRET": "no_secret",
        "UNDECODABLE": "undecodable",
        "CLAIMS": "claims",
    }


@pytest.mark.parametrize("caller", [UserCaller(b"{}"), RejectedCaller(TokenFault.CLAIMS, "x")])
def test_a_caller_cannot_be_changed(caller: msgspec.Struct) -> None:
    for name in caller.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(caller, name, None)


def test_callers_are_compared_by_value() -> None:
    assert len({*CALLERS, *CALLERS}) == len(CALLERS)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1)))  # fmt: skip
def test_claims_are_decoded_as_they_are(claims: dict[str, object]) -> None:
    assert UserCaller(msgspec.json.encode(claims)).decoded() == claims


@pytest.mark.parametrize("claims", [b"", b"[]", b"null", b"5", b"{"])
def test_claims_that_are_no_object_are_not_decoded(claims: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        UserCaller(claims).decoded()
