import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.codec import decode_request, decode_response, encode
from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.http import INLINE_LIMIT, BodyStream, Headers, Request, Response, header, header_values

HEADERS: Headers = [("accept", "a"), ("prefer", "one"), ("prefer", "two"), ("empty", "")]


@pytest.mark.parametrize(
    ("name", "first", "every"),
    [
        ("accept", "a", ["a"]),
        ("prefer", "one", ["one", "two"]),
        ("empty", "", [""]),
        ("absent", None, []),
        ("Accept", None, []),
    ],
)
def test_headers_are_found_by_their_lower_case_name(name: str, first: str | None, every: list[str]) -> None:
    assert header(HEADERS, name) == first
    assert header_values(HEADERS, name) == every


def test_a_request_needs_only_id_method_and_path() -> None:
    request = Request("1", "GET", "/items")

    assert request.caller == AnonymousCaller()
    assert (request.query, request.headers, request.body, request.stream) == ("", [], b"", None)
    assert request.budget_ms == 60_000


def test_messages_share_no_headers() -> None:
    Request("1", "GET", "/").headers.append(("x", "y"))
    Response(200).headers.append(("x", "y"))

    assert Request("2", "GET", "/").headers == []
    assert Response(200).headers == []


@pytest.mark.parametrize("value", [Request("1", "GET", "/"), Response(200), BodyStream("x")])
def test_a_message_cannot_be_changed(value: msgspec.Struct) -> None:
    for name in value.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(value, name, None)


def test_a_message_costs_few_bytes_beside_its_contents() -> None:
    body = b"x" * INLINE_LIMIT

    assert len(encode(Request("1", "POST", "/items", body=body))) - len(body) < 100


texts = st.text(st.characters(codec="utf-8"), max_size=20)
headers = st.lists(st.tuples(texts, texts), max_size=4)
streams = st.none() | st.builds(BodyStream, texts, st.integers(-1, 2**62))
callers: st.SearchStrategy[Caller] = st.one_of(
    st.just(AnonymousCaller()),
    st.just(ServiceCaller()),
    st.builds(UserCaller, st.binary(max_size=40)),
    st.builds(RejectedCaller, st.sampled_from(TokenFault), texts, st.none() | texts),
)


@given(
    st.builds(
        Request, texts, texts, texts, texts, headers, callers, st.integers(0, 2**31), st.binary(), streams
    )
)
def test_a_request_arrives_as_it_was_sent(request: Request) -> None:
    assert msgspec.structs.asdict(decode_request(encode(request))) == msgspec.structs.asdict(request)


@given(st.builds(Response, st.integers(100, 599), headers, st.binary(), texts, streams))
def test_an_answer_arrives_as_it_was_sent(response: Response) -> None:
    assert decode_response(encode(response)) == response
