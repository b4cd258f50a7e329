"""Images that are slightly broken: which are rendered, as far as they can be decoded, and which are rejected."""

import re
from pathlib import Path

import pytest

from schemas.images.transform import Output, Transform
from tests.workers.images import broken_samples
from tests.workers.images.broken_samples import DRAWINGS, PARTS, UNSUPPORTED, WHOLE_QUARTERS
from tests.workers.images.samples import QUARTERS, opened, pixel
from workers.images.errors import SourceUnsupported
from workers.images.limits import DecoderLimits
from workers.images.render import Picture, prepare, render

LIMITS = DecoderLimits()
DOCS = Path(__file__).parents[3] / "docs" / "storage.md"


@pytest.fixture(scope="module", autouse=True)
def prepared() -> None:
    prepare()


@pytest.mark.parametrize("name", WHOLE_QUARTERS)
def test_image_whose_pixels_are_all_there_is_rendered_whole(name: str) -> None:
    picture = render(WHOLE_QUARTERS[name], Transform(80, 40), "png", LIMITS)

    image = opened(picture.data or b"")
    corners = [pixel(image, *at)[:3] for at in ((2, 2), (77, 2), (2, 37), (77, 37))]
    assert (image.width, image.height) == (80, 40)
    assert [_closest(corner) for corner in corners] == list(QUARTERS)


def _closest(colour: tuple[int, ...]) -> str:
    """Return the quarter whose colour is the closest one: those of print are not as bright."""
    return min(
        QUARTERS, key=lambda name: sum((a - b) ** 2 for a, b in zip(colour, QUARTERS[name], strict=True))
    )


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("output", ["png", "jpeg", "origin"])
def test_image_that_lost_some_pixels_is_rendered_without_them(name: str, output: Output) -> None:
    picture = render(PARTS[name], Transform(80, 40), output, LIMITS)

    image = opened(picture.data or b"")
    assert (image.width, image.height) == (picture.width, picture.height)
    assert image.crop(0, 0, image.width, 4).max() > 0  # the first rows were decoded


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_image_without_a_pixel_is_rejected(name: str) -> None:
    with pytest.raises(SourceUnsupported):
        render(UNSUPPORTED[name], Transform(80, 40), "png", LIMITS)


def test_black_image_with_a_wrong_checksum_is_not_taken_for_one_without_pixels() -> None:
    picture = render(broken_samples.BLACK_WITH_A_WRONG_CHECKSUM, Transform(80, 40), "png", LIMITS)

    assert opened(picture.data or b"").max() == 0


def test_one_row_is_enough() -> None:
    picture = render(broken_samples.ONE_ROW, Transform(), "png", LIMITS)

    image = opened(picture.data or b"")
    assert pixel(image, 5, 0)[:3] == (0x50, 0x50, 0x50)
    assert pixel(image, 5, 9)[:3] == (0, 0, 0)


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawing_that_is_not_well_formed_passes_through_unchanged(name: str) -> None:
    for output in ("origin", "auto"):
        picture = render(DRAWINGS[name], Transform(10, 10), output, LIMITS)  # type: ignore[arg-type]  # two of its values
        assert picture == Picture(None, "image/svg+xml", 0, 0)
    with pytest.raises(SourceUnsupported):
        render(DRAWINGS[name], Transform(10, 10), "png", LIMITS)


def test_every_kind_of_file_has_a_row_in_the_manual() -> None:
    rows = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", DOCS.read_text(), re.MULTILINE)
    decided = {kind: decision for kind, decision in rows}

    kinds = {
        **dict.fromkeys(WHOLE_QUARTERS, "rendered"),
        **dict.fromkeys(PARTS, "rendered as far as it goes"),
        **dict.fromkeys(UNSUPPORTED, "400"),
        **dict.fromkeys(DRAWINGS, "unchanged; as another format 400"),
    }
    assert {kind: decided.get(kind[0].upper() + kind[1:]) for kind in kinds} == kinds
