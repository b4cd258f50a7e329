"""Transforms as values: their texts, their keys, what a render makes of them."""

import re
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.blobs import BlobReference
from schemas.images.reading import SideLimits, transform_of_query, transform_of_token
from schemas.images.transform import (
    FORMATS,
    GRAVITIES,
    RenderOrder,
    Transform,
    cache_key,
    is_negotiated,
    output_of,
    token_text,
    variant_etag,
    x_transformations,
)

SIDES = SideLimits(1, 2000)
OFFSETS = st.floats(-99999, 99999).map(lambda value: round(value, 4) + 0.0)
POINTS = st.floats(0, 1).map(lambda value: round(value, 4))


@st.composite
def transforms(draw: st.DrawFn) -> Transform:
    """Give any transform that can be read."""
    width, height = draw(st.integers(0, 2000)), draw(st.integers(0, 2000))
    gravity = draw(st.sampled_from(("", *GRAVITIES)))
    x = y = None
    if gravity == "fp":
        x, y = draw(POINTS), draw(POINTS)
    elif gravity not in ("", "sm") and draw(st.booleans()):
        x, y = draw(OFFSETS), draw(OFFSETS)
    return Transform(
        width,
        height,
        draw(st.sampled_from(("cover", "contain", "fill"))) if width or height else "cover",
        draw(st.sampled_from(("", *FORMATS))),
        draw(st.integers(0, 100)),
        gravity,
        x,
        y,
    )


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (Transform(200, 200, quality=60), "height:200,width:200,resizing_type:fill,quality:60"),
        (Transform(100, 50, "contain"), "height:50,width:100,resizing_type:fit"),
        (Transform(100, 50, "fill"), "height:50,width:100,resizing_type:force"),
        (Transform(width=100), "width:100,resizing_type:fill"),
        (Transform(height=100, format="avif"), "height:100,resizing_type:fill,format:avif"),
        (Transform(width=100, format="origin"), "width:100,resizing_type:fill"),
        (
            Transform(200, 200, "cover", "webp", 60, "fp", 0.0, 1.0),
            "height:200,width:200,resizing_type:fill,quality:60,format:webp,gravity:fp:0:1",
        ),
        (Transform(9, 9, gravity="no"), "height:9,width:9,resizing_type:fill,gravity:no"),
        (Transform(9, 9, gravity="soea", x_offset=0.1, y_offset=-100.0),
         "height:9,width:9,resizing_type:fill,gravity:soea:0.1:-100"),
        (Transform(quality=5), "quality:5"),
        (Transform(), ""),
    ],
)  # fmt: skip
def test_the_header_tells_what_was_asked_in_its_order(transform: Transform, text: str) -> None:
    assert x_transformations(transform) == text


@given(transforms())
def test_a_token_gives_back_what_was_put_into_it(transform: Transform) -> None:
    assert transform_of_token(token_text(transform), SIDES) == transform


@given(transforms())
def test_a_query_gives_back_what_was_put_into_it(transform: Transform) -> None:
    empty = Transform()
    asked = {name: getattr(transform, name) for name in transform.__struct_fields__}
    query = urlencode({name: value for name, value in asked.items() if value != getattr(empty, name)})

    assert transform_of_query(query, SIDES) == transform


@pytest.mark.parametrize(
    ("format", "accept", "output"),
    [
        ("", "image/avif,image/webp,*/*;q=0.8", "auto"),
        ("", "image/avif, IMAGE/WebP ; q=0.5", "auto"),
        ("", "image/webp;q=0,*/*", "origin"),
        ("", "image/webp;q=0.000", "origin"),
        ("", "image/*", "origin"),
        ("", "*/*", "origin"),
        ("", "", "origin"),
        ("", "image/webpx", "origin"),
        ("origin", "image/webp", "origin"),
        ("jpg", "image/webp", "jpeg"),
        ("jpeg", "", "jpeg"),
        ("png", "", "png"),
        ("avif", "", "avif"),
        ("webp", "", "webp"),
    ],
)
def test_the_format_asked_for_wins_over_what_the_client_takes(format: str, accept: str, output: str) -> None:
    assert output_of(Transform(format=format), accept) == output
    assert is_negotiated(Transform(format=format)) == (format == "")


def test_what_cannot_change_the_result_is_not_in_its_key() -> None:
    assert cache_key(Transform(width=5, gravity="no"), "webp") == cache_key(Transform(width=5), "webp")
    assert cache_key(Transform(5, 5, "contain", gravity="no"), "webp") == cache_key(
        Transform(5, 5, "contain"), "webp"
    )
    assert cache_key(Transform(5, 5, gravity="ce"), "webp") == cache_key(Transform(5, 5), "webp")
    assert cache_key(Transform(5, 5, format="jpg"), "jpeg") == cache_key(
        Transform(5, 5, format="jpeg"), "jpeg"
    )


def test_what_changes_the_result_changes_its_key() -> None:
    keys = [
        cache_key(transform, output)
        for output in ("origin", "auto", "webp", "jpeg")
        for transform in (
            Transform(),
            Transform(5, 5),
            Transform(55),
            Transform(5, 5, "fill"),
            Transform(5, 5, "contain"),
            Transform(5, 5, quality=5),
            Transform(5, 5, gravity="no"),
            Transform(5, 5, gravity="sm"),
            Transform(5, 5, gravity="ce", x_offset=1.0, y_offset=0.0),
            Transform(5, 5, gravity="ce", x_offset=10.0, y_offset=0.0),
            Transform(5, 5, gravity="fp", x_offset=0.1, y_offset=0.0),
        )
    ]

    assert len(set(keys)) == len(keys)


@given(transforms(), st.sampled_from(("origin", "auto", "webp", "jpeg", "png", "avif")))
def test_a_key_can_stand_in_a_path(transform: Transform, output: str) -> None:
    key = cache_key(transform, output)  # type: ignore[arg-type]  # drawn from its values

    assert re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,99}", key)


def test_each_variant_has_an_etag_of_its_own() -> None:
    tags = {variant_etag(source, key) for source in ('"a"', '"b"') for key in ("1-webp", "1-avif")}

    assert len(tags) == 4
    assert all(re.fullmatch(r'"[0-9a-f]{32}"', tag) for tag in tags)
    assert variant_etag('"a"', "1-webp") in tags


def test_an_order_names_the_places_of_its_result() -> None:
    order = RenderOrder(BlobReference("b", "00000000-0000-4000-8000-000000000000"), Transform(8, 9), "webp")

    assert order.key == "1-webp-8x9-cover"
    assert order.result == BlobReference("b", order.source.version, order.key)
    assert order.about == BlobReference("b", order.source.version, f"{order.key}.about")


def test_a_transform_is_empty_when_nothing_is_asked() -> None:
    assert Transform().is_empty
    assert Transform(resize="fill").is_empty
    assert not Transform(quality=1).is_empty
