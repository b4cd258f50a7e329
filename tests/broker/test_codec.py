import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from broker.codec import (
    InvalidMessage,
    RequestDecoder,
    decode_request,
    decode_response,
    decoder,
    encode,
)
from schemas.caller import AnonymousCaller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.events import CatalogChanged, ConfigChanged
from schemas.http import BodyStream, Headers, Request, Response, derived

_TEXT = st.text(max_size=40)
_HEADERS = st.lists(st.tuples(_TEXT, _TEXT), max_size=5)
_STREAM = st.none() | st.builds(BodyStream, _TEXT, st.integers(-1, 2**62))
_CALLER = st.one_of(
    st.just(AnonymousCaller()),
    st.just(ServiceCaller()),
    st.builds(UserCaller, st.binary(max_size=80)),
    st.builds(RejectedCaller, st.sampled_from(TokenFault), _TEXT, st.none() | _TEXT),
)
_REQUESTS = st.builds(
    Request,
    id=_TEXT, method=_TEXT, path=_TEXT, query=_TEXT, headers=_HEADERS, caller=_CALLER,
    budget_ms=st.integers(0, 2**31), body=st.binary(max_size=200), stream=_STREAM,
)  # fmt: skip
_RESPONSES = st.builds(
    Response,
    st.integers(100, 599),
    headers=_HEADERS,
    body=st.binary(max_size=200),
    reason=_TEXT,
    stream=_STREAM,
)


@given(_REQUESTS)
def test_a_request_comes_out_as_it_went_in(request: Request) -> None:
    decoded = decode_request(encode(request))

    assert isinstance(decoded, Request)
    assert astuple(decoded) == astuple(request)


def test_requests_with_the_same_headers_share_what_is_computed_of_them_until_others_take_their_place() -> (
    None
):
    computed = []

    def names_of(headers: Headers) -> list[str]:
        computed.append(len(headers))
        return [name for name, _ in headers]

    decode = RequestDecoder(most=2)

    def names_in(*headers: tuple[str, str]) -> list[str]:
        return derived(decode(encode(Request("", "GET", "/", headers=list(headers)))).headers, names_of)

    long = ("cookie", "x" * 5000)
    for _ in range(4):
        assert names_in(("accept", "*/*")) == ["accept"]
        assert names_in(("prefer", "a"), ("range", "b")) == ["prefer", "range"]
        assert names_in(long, long, long) == ["cookie"] * 3
    assert computed == [1, 2, 3, 1, 2, 3, 3, 3]  # kept from the second time on, but for long ones

    for number in range(9):  # what came once takes no place
        names_in(("a", str(number)), ("b", ""), ("c", ""), ("d", ""))
    computed.clear()
    assert names_in(("prefer", "a"), ("range", "b")) == ["prefer", "range"]
    assert computed == []

    for _ in range(2):  # a third one that is repeated
        names_in(("a", ""), ("b", ""), ("c", ""), ("d", ""))
    computed.clear()
    names_in(("accept", "*/*"))

    assert computed == [1]


@given(_RESPONSES)
def test_a_response_comes_out_as_it_went_in(response: Response) -> None:
    assert decode_response(encode(response)) == response


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_undecodable(data: bytes) -> None:
    decoded: object = None
    with contextlib.suppress(InvalidMessage):
        decoded = decode_request(data)

    assert decoded is None or isinstance(decoded, Request)


@given(_REQUESTS, st.data())
def test_a_cut_request_is_undecodable(request: Request, data: st.DataObject) -> None:
    whole = encode(request)
    cut = data.draw(st.integers(0, len(whole) - 1))

    with pytest.raises(InvalidMessage):
        decode_request(whole[:cut])


def test_an_event_of_another_kind_is_undecodable() -> None:
    with pytest.raises(InvalidMessage) as caught:
        decoder(ConfigChanged)(encode(CatalogChanged(3)))

    assert caught.value.expected == "ConfigChanged"


def test_a_type_has_one_decoder() -> None:
    assert decoder(CatalogChanged) is decoder(CatalogChanged)
