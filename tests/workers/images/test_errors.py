"""Refusals have the shape of the storage area."""

import msgspec
import pytest

from workers.images import errors
from workers.images.errors import DECODER_ERRORS, ImageError

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ImageError) and kind is not ImageError
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_refusal_says_what_the_reference_says(kind: type[ImageError]) -> None:
    response = kind().response()
    body = msgspec.json.decode(response.body)

    assert list(body) == ["statusCode", "error", "message", "code"]
    assert all(isinstance(text, str) and text for text in body.values())
    assert response.status == (500 if body["statusCode"] == "500" else 400)


def test_a_missing_source_is_not_kept_by_caches() -> None:
    assert ("cache-control", "no-store") in errors.SourceMissing().response().headers


def test_a_decoder_can_refuse_by_name() -> None:
    assert all(DECODER_ERRORS[kind.__name__] is kind for kind in DECODER_ERRORS.values())
