"""Rendering: sizes, corners, rotation, colours, transparency, frames, for every format in and out."""

import logging
from typing import Any

import pytest
import pyvips
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.images.transform import GRAVITIES, Output, Transform
from tests.workers.images.samples import (
    BLUE,
    FOREIGN,
    GREEN,
    QUARTERS,
    RED,
    STEPS,
    WHITE,
    is_near,
    moving,
    opened,
    pixel,
    plain,
    quarters,
    svg,
    turned,
    written,
)
from workers.images.errors import SourceTooLarge, SourceTooManyPixels, SourceUnsupported
from workers.images.limits import DecoderLimits
from workers.images.render import Picture, prepare, render

LIMITS = DecoderLimits()
WHOLE = Transform()
SOURCES = ("jpg", "png", "webp", "gif", "avif", "tif")
OUTPUTS: dict[Output, str] = {
    "webp": "image/webp",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "avif": "image/avif",
}
ORIGINS = {
    "jpg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif", "avif": "image/avif",
    "tif": "image/jpeg",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def prepared() -> None:
    prepare()


def test_no_python_runs_inside_a_message_of_the_library(caplog: pytest.LogCaptureFixture) -> None:
    """The garbage collector could run in it, and a second message from there would abort the process."""
    with caplog.at_level(logging.DEBUG, "pyvips"):
        logging.getLogger("pyvips").info("is recorded")
        made(written(quarters(), "tif"), Transform(20, 20))

    assert [record.message for record in caplog.records if record.name == "pyvips"] == ["is recorded"]


def made(source: bytes, transform: Transform = WHOLE, output: Output = "png") -> tuple[Picture, Any]:
    """Render, and open the result; what is said of its size is true."""
    picture = render(source, transform, output, LIMITS)
    assert picture.data is not None
    image = opened(picture.data)
    assert (image.width, image.height) == (picture.width, picture.height)
    return picture, image


def corners(image: Any) -> list[tuple[int, ...]]:
    """Give the colours of the corners: north-west, north-east, south-west, south-east."""
    right, bottom = image.width - 3, image.height - 3
    return [pixel(image, *at)[:3] for at in ((2, 2), (right, 2), (2, bottom), (right, bottom))]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format_becomes_every_other(source: str, output: Output) -> None:
    picture, image = made(written(quarters(), source), Transform(40, 20), output)

    assert picture.content_type == OUTPUTS[output]
    assert (image.width, image.height) == (40, 20)
    found = corners(image)
    assert all(is_near(one, other, 60) for one, other in zip(found, QUARTERS.values(), strict=True)), found


@pytest.mark.parametrize("source", SOURCES)
def test_the_format_of_the_source_is_kept_where_it_can_be_written(source: str) -> None:
    picture, _ = made(written(quarters(), source), Transform(40, 20), "origin")

    assert picture.content_type == ORIGINS[source]


def test_what_cannot_be_written_keeps_its_transparency() -> None:
    picture, image = made(written(plain(20, 20, (255, 0, 0, 128)), "tif"), Transform(10, 10), "origin")

    assert picture.content_type == "image/png"
    assert pixel(image, 5, 5)[3] == 128


@pytest.mark.parametrize(
    ("transform", "size"),
    [
        (Transform(20, 20), (20, 20)),
        (Transform(20, 20, "contain"), (20, 10)),
        (Transform(20, 20, "fill"), (20, 20)),
        (Transform(width=20), (20, 10)),
        (Transform(height=20), (40, 20)),
        (Transform(500, 500), (80, 40)),
        (Transform(500, 500, "contain"), (80, 40)),
        (Transform(500, 500, "fill"), (80, 40)),
        (Transform(500, 20), (80, 20)),
        (Transform(), (80, 40)),
        (Transform(1, 1), (1, 1)),
    ],
)
def test_sizes(transform: Transform, size: tuple[int, int]) -> None:
    _, image = made(written(quarters(), "png"), transform)

    assert (image.width, image.height) == size


@pytest.mark.parametrize(("gravity", "colour"), QUARTERS.items())
def test_a_crop_keeps_the_corner_of_its_gravity(gravity: str, colour: tuple[int, ...]) -> None:
    source = pyvips.Image.arrayjoin([quarters(40, 40)] * 1).embed(0, 0, 40, 40)

    for size in ((40, 10), (10, 40)):
        _, image = made(written(source, "png"), Transform(*size, gravity=gravity))
        x, y = (2 if "we" in gravity else size[0] - 3), (2 if "no" in gravity else size[1] - 3)
        assert is_near(pixel(image, x, y), colour)


def test_a_crop_follows_its_focal_point_and_its_offsets() -> None:
    source = written(quarters(80, 40), "png")

    _, whole = made(source, Transform(20, 40, gravity="fp", x_offset=1.0, y_offset=0.0))
    assert (pixel(whole, 10, 5), pixel(whole, 10, 35)) == (GREEN, WHITE)
    _, moved = made(source, Transform(20, 40, gravity="we", x_offset=60.0, y_offset=0.0))
    assert (pixel(moved, 10, 5), pixel(moved, 10, 35)) == (GREEN, WHITE)
    _, part = made(source, Transform(20, 40, gravity="ea", x_offset=0.5, y_offset=0.0))
    assert pixel(part, 5, 5) == RED


def test_a_smart_crop_finds_what_stands_out() -> None:
    calm = plain(300, 100, (128, 128, 128))
    busy = calm.insert(quarters(40, 40), 240, 30)

    _, image = made(written(busy, "png"), Transform(100, 100, gravity="sm"))
    _, middle = made(written(busy, "png"), Transform(100, 100))

    assert image.deviate() > 30
    assert middle.deviate() < 1


@pytest.mark.parametrize("suffix", ["jpg", "webp", "png", "tif"])
@pytest.mark.parametrize(
    ("orientation", "wanted", "is_sideways"),
    [
        (1, [RED, GREEN, BLUE, WHITE], False),
        (2, [GREEN, RED, WHITE, BLUE], False),
        (3, [WHITE, BLUE, GREEN, RED], False),
        (4, [BLUE, WHITE, RED, GREEN], False),
        (5, [RED, BLUE, GREEN, WHITE], True),
        (6, [BLUE, RED, WHITE, GREEN], True),
        (7, [WHITE, GREEN, BLUE, RED], True),
        (8, [GREEN, WHITE, RED, BLUE], True),
    ],
)
def test_a_rotation_is_obeyed_and_dropped(
    suffix: str, orientation: int, wanted: list[tuple[int, ...]], is_sideways: bool
) -> None:
    _, image = made(written(turned(orientation), suffix), Transform(40, 40, "contain"))

    assert (image.width, image.height) == ((20, 40) if is_sideways else (40, 20))
    assert all(is_near(one, other, 60) for one, other in zip(corners(image), wanted, strict=True))
    assert not image.get_typeof("orientation")


def test_a_crop_of_a_turned_image_is_that_of_the_upright_one() -> None:
    _, image = made(written(turned(6), "png"), Transform(20, 10, gravity="no"))

    assert pixel(image, 2, 2) == BLUE
    assert pixel(image, 17, 2) == RED


@pytest.mark.parametrize("output", OUTPUTS)
def test_metadata_is_dropped(output: Output) -> None:
    image = quarters().copy()
    image.set_type(pyvips.GValue.gstr_type, "exif-ifd0-Artist", "someone")
    image.set_type(pyvips.GValue.blob_type, "xmp-data", b"<x:xmpmeta secret='1'/>")
    image = image.icc_transform("p3", input_profile="srgb")
    source = written(image, "jpg")
    assert b"someone" in source

    picture, found = made(source, Transform(40, 20), output)

    assert picture.data is not None
    assert all(
        word not in picture.data for word in (b"someone", b"xmpmeta", b"Exif", b"ICC_PROFILE", b"acsp")
    )
    assert not any(found.get_typeof(name) for name in ("exif-data", "xmp-data", "icc-profile-data"))


def test_colours_of_a_profile_become_srgb() -> None:
    p3 = quarters().icc_transform("p3", input_profile="srgb")
    assert pixel(p3, 2, 2) != RED

    _, image = made(written(p3, "png"), Transform(40, 20))

    assert is_near(pixel(image, 2, 2), RED, 4)


@pytest.mark.parametrize("keep", ["all", "none"])
def test_the_colours_of_print_become_srgb(keep: str) -> None:
    cmyk = quarters().icc_transform("cmyk", input_profile="srgb")

    _, image = made(written(cmyk, "jpg", keep=keep), Transform(40, 20))

    assert (image.bands, image.interpretation) == (3, "srgb")
    assert is_near(pixel(image, 37, 17), WHITE)
    assert pixel(image, 2, 2)[0] > 180 > 100 > pixel(image, 2, 2)[1]


def test_a_profile_that_is_broken_is_passed_over() -> None:
    image = quarters().copy()
    image.set_type(pyvips.GValue.blob_type, "icc-profile-data", b"garbage" * 100)

    _, found = made(written(image, "jpg"), Transform(40, 20))

    assert is_near(pixel(found, 2, 2), RED)


@pytest.mark.parametrize("interpretation", ["rgb16", "grey16", "b-w", "lab", "scrgb"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_deep_and_grey_images_are_written_with_eight_bits(interpretation: str, output: Output) -> None:
    source = written(plain(40, 20, (128, 128, 128)).colourspace(interpretation), "tif")

    _, image = made(source, Transform(20, 10), output)

    assert image.format == "uchar"
    assert is_near(pixel(image, 5, 5)[:1], (128,), 3)


def test_transparency_stays_and_is_white_in_jpeg() -> None:
    source = written(plain(20, 20, (255, 0, 0, 0)), "png")

    for output in ("png", "webp", "avif"):
        _, image = made(source, Transform(10, 10), output)
        assert pixel(image, 5, 5)[3] == 0
    _, image = made(source, Transform(10, 10), "jpeg")
    assert is_near(pixel(image, 5, 5), WHITE, 2)


def test_grey_with_transparency_is_white_in_jpeg() -> None:
    grey = plain(20, 20, (0,)).bandjoin(0).copy(interpretation="b-w")

    _, image = made(written(grey, "png"), Transform(10, 10), "jpeg")

    assert is_near(pixel(image, 5, 5), (255,), 2)


def test_quality_is_obeyed() -> None:
    noise = pyvips.Image.gaussnoise(200, 200, mean=128, sigma=40).cast("uchar").copy(interpretation="b-w")
    source = written(noise, "png")

    for output in ("jpeg", "webp", "avif"):
        sizes = [
            len(made(source, Transform(quality=quality), output)[0].data or b"") for quality in (1, 40, 100)
        ]
        assert sizes == sorted(sizes)
        assert sizes[0] * 3 < sizes[2]


@pytest.mark.parametrize("suffix", ["gif", "webp"])
@pytest.mark.parametrize("output", ["origin", "webp", "auto"])
def test_a_moving_picture_moves_on_with_its_times(suffix: str, output: Output) -> None:
    _, image = made(written(moving(7), suffix), Transform(33, 10), output)

    assert (image.width, image.height) == (33, 10)
    assert image.get("n-pages") == 7
    assert image.get("delay") == [30] * 7
    assert image.get("loop") == 2


@pytest.mark.parametrize("gravity", ["", "no", "soea", "sm", "fp"])
def test_every_frame_is_cut(gravity: str) -> None:
    transform = Transform(10, 17, gravity=gravity, x_offset=0.5, y_offset=0.5)
    picture, _ = made(written(moving(5), "webp", lossless=True), transform, "webp")

    frames = opened(picture.data or b"", "n=-1")

    assert (picture.width, picture.height) == (10, 17)
    assert (frames.width, frames.height, frames.get("page-height")) == (10, 17 * 5, 17)
    found = [pixel(frames, 5, 17 * at + 8) for at in range(5)]
    assert all(is_near(one, other, 40) for one, other in zip(found, [*STEPS, *STEPS], strict=False))


@pytest.mark.parametrize("height", range(3, 20))
def test_frames_of_any_height_stay_apart(height: int) -> None:
    picture, _ = made(written(moving(15), "webp", lossless=True), Transform(17, height, "fill"), "webp")

    frames = opened(picture.data or b"", "n=-1")
    assert frames.height == height * 15
    found = [pixel(frames, 8, height * at + height // 2) for at in range(15)]
    assert all(is_near(one, other, 50) for one, other in zip(found, STEPS * 5, strict=True))


def test_more_frames_than_the_limit_are_left_out() -> None:
    picture, image = made(written(moving(80), "gif"), Transform(10, 5), "origin")

    assert image.get("n-pages") == LIMITS.frames
    assert picture.content_type == "image/gif"


def test_frames_count_as_pixels() -> None:
    limits = DecoderLimits(source_pixels=40 * 20 * 3)

    picture = render(written(moving(9), "gif"), Transform(10, 5), "origin", limits)

    assert opened(picture.data or b"").get("n-pages") == 3


@pytest.mark.parametrize("output", ["jpeg", "png", "avif"])
def test_where_the_output_cannot_move_the_first_frame_is_shown(output: Output) -> None:
    _, image = made(written(moving(7), "gif"), Transform(10, 5), output)

    assert (image.width, image.height) == (10, 5)
    assert is_near(pixel(image, 5, 2), RED)


@pytest.mark.parametrize("output", ["origin", "auto"])
def test_a_drawing_stays_as_it_is(output: Output) -> None:
    picture = render(svg(80, 40), Transform(10, 10), output, LIMITS)

    assert picture == Picture(None, "image/svg+xml", 80, 40)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_drawing_becomes_a_photograph_where_that_is_asked(output: Output) -> None:
    picture, image = made(svg(80, 40), Transform(800, 800, "contain"), output)

    assert picture.content_type == OUTPUTS[output]
    assert (image.width, image.height) == (800, 400)
    assert is_near(pixel(image, 400, 200)[:3], GREEN)


def test_limits_are_looked_at_before_pixels() -> None:
    source = written(quarters(), "png")

    with pytest.raises(SourceTooLarge):
        render(source, Transform(), "png", DecoderLimits(source_bytes=len(source) - 1))
    with pytest.raises(SourceTooManyPixels):
        render(source, Transform(), "png", DecoderLimits(source_pixels=80 * 40 - 1))
    assert (
        render(
            source, Transform(), "png", DecoderLimits(source_bytes=len(source), source_pixels=80 * 40)
        ).width
        == 80
    )


@pytest.mark.parametrize("name", FOREIGN)
def test_other_formats_are_refused(name: str) -> None:
    with pytest.raises(SourceUnsupported):
        render(FOREIGN[name], Transform(5, 5), "auto", LIMITS)


@pytest.mark.parametrize("suffix", SOURCES)
def test_head_of_a_file_is_refused(suffix: str) -> None:
    noise = pyvips.Image.gaussnoise(200, 200, mean=128, sigma=40).cast("uchar").copy(interpretation="b-w")
    source = written(noise, suffix)

    for part in (60, 13):
        with pytest.raises(SourceUnsupported):
            render(source[:part], Transform(20, 20), "webp", LIMITS)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(1, 90), st.integers(1, 90), st.integers(0, 120), st.integers(0, 120),
    st.sampled_from(("cover", "contain", "fill")), st.sampled_from(("jpg", "png", "webp", "gif")),
    st.sampled_from(("origin", "auto", *OUTPUTS)), st.sampled_from(("", *GRAVITIES)), st.integers(0, 100),
    st.floats(0, 1), st.integers(1, 8),
)  # fmt: skip
def test_any_order_gives_an_image_of_the_planned_size(
    width: int, height: int, w: int, h: int, resize: str, suffix: str, output: Output, gravity: str,
    quality: int, offset: float, orientation: int,
) -> None:  # fmt: skip
    source = plain(width, height).copy()
    source.set_type(pyvips.GValue.gint_type, "orientation", orientation)
    transform = Transform(w, h, resize, "", quality, gravity, offset, offset)  # type: ignore[arg-type]  # drawn from its values

    picture, image = made(written(source, suffix), transform, output)

    sides = (height, width) if orientation >= 5 and suffix != "gif" else (width, height)
    assert 1 <= image.width <= (w or sides[0])
    assert 1 <= image.height <= (h or sides[1])
    assert is_near(pixel(image, 0, 0)[:3], RED, 40)
    assert picture.content_type.startswith("image/")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=64), st.integers(0, 3000), st.sampled_from(("jpg", "png", "webp", "gif", "tif")))
def test_a_damaged_file_is_rendered_or_refused(noise: bytes, at: int, suffix: str) -> None:
    source = written(quarters(), suffix)
    at %= len(source)

    try:
        picture = render(
            source[:at] + noise + source[at + len(noise) :],
            Transform(9, 9),
            "webp",
            DecoderLimits(source_pixels=10_000),
        )
    except (SourceUnsupported, SourceTooManyPixels):
        return
    assert picture.data
