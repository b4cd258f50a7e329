"""Formats are recognised by their first bytes."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.images.samples import FOREIGN, gzipped, moving, quarters, svg, written
from workers.images.formats import (
    AVIF,
    FORMATS,
    GIF,
    HEAD,
    JPEG,
    PNG,
    SVG,
    TIFF,
    WEBP,
    ImageFormat,
    output_format,
    sniff,
)

DOCTYPE = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd"'


@pytest.mark.parametrize(
    ("suffix", "format"),
    [("jpg", JPEG), ("png", PNG), ("webp", WEBP), ("gif", GIF), ("avif", AVIF), ("tif", TIFF), ("tif[bigtiff]", TIFF)],
)  # fmt: skip
def test_what_an_encoder_writes_is_recognised(suffix: str, format: ImageFormat) -> None:
    assert sniff(written(quarters(), suffix)[:HEAD]) is format


def test_a_moving_picture_is_of_the_same_format() -> None:
    assert sniff(written(moving(3), "webp")) is WEBP
    assert sniff(written(moving(3), "gif")) is GIF


@pytest.mark.parametrize(
    "data",
    [
        svg(),
        b"\xef\xbb\xbf" + svg(),
        b"<svg>",
        b"  \n<svg/>",
        b"<svg:svg xmlns:svg='http://www.w3.org/2000/svg'/>",
        svg(head="<!-- a > b --><!-- c -->"),
        svg(head=f"{DOCTYPE}>"),
        svg(head=f'{DOCTYPE} [\n<!ENTITY a "b">\n]>\n'),
    ],
)
def test_a_drawing_is_recognised_by_its_first_element(data: bytes) -> None:
    assert sniff(data) is SVG


@pytest.mark.parametrize(
    "data",
    [
        *FOREIGN.values(),
        b"",
        b"<svgs/>",
        b"<html><svg></svg></html>",
        b"<!-- <svg> -->",
        b"<!-- <svg>",
        b"<!DOCTYPE svg [ <svg>",
        gzipped(svg()),
        svg().decode().encode("utf-16"),
        b"\0\0\0\x1cftypavi",
    ],
)
def test_anything_else_is_not(data: bytes) -> None:
    assert sniff(data) is None


@pytest.mark.parametrize(
    "text", [b"<!DOCTYPE svg ", b"<?xml?>", b"<!---->", b"<!DOCTYPE svg []> ", b"<", b" ", b"<![", b"]>"]
)
def test_a_text_of_one_thing_over_and_over_is_read_once(text: bytes) -> None:
    began = time.process_time()

    assert sniff((text * HEAD)[:HEAD]) is None
    assert time.process_time() - began < 1


@given(st.binary(max_size=200))
def test_any_bytes_are_recognised_or_not(data: bytes) -> None:
    for head in (data, b"\0\0\0\x20ftyp" + data, b"<!DOCTYPE" + data, b"<?" + data):
        sniff(head)


def test_what_cannot_be_written_becomes_what_can() -> None:
    for source in FORMATS:
        assert output_format(source, "webp", has_alpha=True) is WEBP
        assert output_format(source, "auto", has_alpha=True) is WEBP
        assert output_format(source, "jpeg", has_alpha=True) is JPEG
        assert output_format(source, "origin", has_alpha=False) is (source if source.can_write else JPEG)
        assert output_format(source, "origin", has_alpha=True) is (source if source.can_write else PNG)
