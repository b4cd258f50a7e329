"""The robots of an upload."""

import pytest

from workers.storage.model.errors import StorageError
from workers.storage.model.robots import check_robots


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "noindex, nofollow",
        "NOINDEX",
        "max-snippet: 10",
        "max-image-preview:large, noarchive",
        "googlebot: noindex",
        "googlebot: max-snippet: 5",
        "unavailable_after: 25 Jun 2030 15:00:00 PST",
        "unavailable_after: Sunday, 25-Jun-30 15:00:00 GMT",
    ],
)
def test_known_directives_are_taken(text: str) -> None:
    check_robots(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "noindex,",
        "max-snippet: x",
        "googlebot: everything",
        "a: b: c",
        "noindex\n",
        "x" * 2000,
    ],
)
def test_others_are_refused(text: str) -> None:
    with pytest.raises(StorageError) as refused:
        check_robots(text)

    assert refused.value.body() == {
        "statusCode": "400",
        "error": "invalid_x_robots_tag",
        "message": "The x-robots-tag header is invalid",
        "code": "InvalidRequest",
    }
