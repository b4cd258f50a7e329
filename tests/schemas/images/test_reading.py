"""Reading of transforms: what is taken, what is clamped, and the words of each refusal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.images.reading import (
    BadTransform,
    SideLimits,
    transform_of_body,
    transform_of_query,
    transform_of_token,
)
from schemas.images.transform import Transform

SIDES = SideLimits(1, 2000)


def read(query: str) -> Transform:
    return transform_of_query(query, SIDES)


def refusal(query: str) -> str:
    with pytest.raises(BadTransform) as caught:
        read(query)
    return str(caught.value)


@pytest.mark.parametrize(
    ("query", "transform"),
    [
        ("", Transform()),
        ("width=200&height=100", Transform(200, 100)),
        ("width=0&height=0", Transform()),
        ("width=2500&height=99999999999", Transform(2000, 2000)),
        ("width=10&resize=contain", Transform(10, 0, "contain")),
        ("resize=fill", Transform()),
        ("quality=1", Transform(quality=1)),
        ("quality=100&format=jpg", Transform(quality=100, format="jpg")),
        ("format=origin", Transform(format="origin")),
        ("width=1e2&height=5.0", Transform(100, 5)),
        ("gravity=fp&x_offset=0.25&y_offset=1", Transform(gravity="fp", x_offset=0.25, y_offset=1.0)),
        ("gravity=no&y_offset=-12.34567", Transform(gravity="no", x_offset=0.0, y_offset=-12.3457)),
        ("gravity=sm&x_offset=5", Transform(gravity="sm")),
        ("x_offset=5", Transform()),
        ("token=abc&download=&width=3", Transform(3)),
        ("width=%31%30", Transform(10)),
    ],
)
def test_a_query_is_read(query: str, transform: Transform) -> None:
    assert read(query) == transform


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("width=-1", "querystring/width must be >= 0"),
        ("height=-5", "querystring/height must be >= 0"),
        ("width=abc", "querystring/width must be integer"),
        ("width=1.5", "querystring/width must be integer"),
        ("width=", "querystring/width must be integer"),
        ("width=1_0", "querystring/width must be integer"),
        ("width=٣", "querystring/width must be integer"),
        ("width=1&width=2", "querystring/width must be integer"),
        ("width=nan", "querystring/width must be integer"),
        ("width=Infinity", "querystring/width must be integer"),
        ("quality=0", "querystring/quality must be >= 1"),
        ("quality=101", "querystring/quality must be <= 100"),
        ("resize=stretch", "querystring/resize must be equal to one of the allowed values"),
        ("format=gif", "querystring/format must be equal to one of the allowed values"),
        ("format=", "querystring/format must be equal to one of the allowed values"),
        ("gravity=up", "querystring/gravity must be equal to one of the allowed values"),
        ("gravity=fp", "querystring must have required property 'x_offset', querystring must have required property 'y_offset'"),
        ("gravity=fp&x_offset=0&y_offset=1.1", "querystring/y_offset must be <= 1"),
        ("gravity=fp&x_offset=-0.1&y_offset=1", "querystring/x_offset must be >= 0"),
        ("x_offset=left", "querystring/x_offset must be number"),
        ("width=-1&height=x", "querystring/width must be >= 0, querystring/height must be integer"),
    ],
)  # fmt: skip
def test_a_fault_is_told_in_the_words_of_the_official_checker(query: str, message: str) -> None:
    assert refusal(query) == message


def test_sides_are_clamped_to_the_limits() -> None:
    sides = SideLimits(16, 300)

    assert transform_of_query("width=1&height=9000", sides) == Transform(16, 300)
    assert transform_of_query("width=0&height=20", sides) == Transform(0, 20)


def test_a_body_is_read_with_its_own_place_in_messages() -> None:
    body = json.loads('{"width": 80, "height": 60.0, "resize": "contain", "other": [1], "quality": null}')

    assert transform_of_body(body, SIDES) == Transform(80, 60, "contain")
    assert transform_of_body({"width": "80", "resize": "fill"}, SIDES) == Transform(80, 0, "fill")
    for wrong, message in {
        '{"width": true}': "body/transform/width must be integer",
        '{"width": "8x"}': "body/transform/width must be integer",
        '{"gravity": 5}': "body/transform/gravity must be equal to one of the allowed values",
        '{"x_offset": [], "gravity": "no"}': "body/transform/x_offset must be number",
        '{"width": 1e400}': "body/transform/width must be integer",
    }.items():
        with pytest.raises(BadTransform, match=f"^{message}$"):
            transform_of_body(json.loads(wrong), SIDES)


@pytest.mark.parametrize(
    ("text", "transform"),
    [
        ("", Transform()),
        ("height:80,width:100,resize:contain,quality:60,format:webp", Transform(100, 80, "contain", "webp", 60)),
        ("width:9,gravity:fp:0.5:1", Transform(9, gravity="fp", x_offset=0.5, y_offset=1.0)),
        ("width:9,gravity:so", Transform(9, gravity="so")),
        ("width:9,unknown:5", Transform(9)),
        ("width:9000", Transform(2000)),
    ],
)  # fmt: skip
def test_the_text_of_a_token_is_read(text: str, transform: Transform) -> None:
    assert transform_of_token(text, SIDES) == transform


@given(
    st.text(max_size=200) | st.from_regex(r"(width|height|quality|gravity|x_offset|resize)=[-+0-9.eE%a-z&]*")
)
def test_any_query_is_read_or_refused(query: str) -> None:
    for reader in (transform_of_query, transform_of_token):
        try:
            found = reader(query, SIDES)
        except BadTransform:
            continue
        assert 0 <= found.width <= 2000
        assert 0 <= found.height <= 2000


@given(st.dictionaries(
    st.sampled_from(("width", "height", "resize", "format", "quality", "gravity", "x_offset", "y_offset")),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.none()),
))  # fmt: skip
def test_any_body_is_read_or_refused(body: dict[str, object]) -> None:
    try:
        found = transform_of_body(body, SIDES)
    except BadTransform:
        return
    assert transform_of_body(body, SIDES) == found
