import pytest

from schemas.http import header
from schemas.settings.storage import Storage
from services.gateway.objects.resumable.uploads import is_resumable, options_response


@pytest.mark.parametrize(
    ("path", "is_it"),
    [
        ("/upload/resumable", True),
        ("/upload/resumable/", True),
        ("/upload/resumable/sign/abc", True),
        ("/upload/%72esumable/abc", True),
        ("/upload/resumables", False),
        ("/object/upload/resumable", False),
    ],
)
def test_paths_of_resumable_uploads_are_known(path: str, is_it: bool) -> None:
    assert is_resumable(path) is is_it


def test_what_is_spoken_is_told_in_plain_numbers() -> None:
    response = options_response(Storage(upload_file_size_limit=None).largest, None)

    assert response.status == 204
    assert header(response.headers, "tus-max-size") == str(5 * 1024**3)
    assert header(response.headers, "tus-version") == "1.0.0"


def test_headers_that_a_page_asks_for_are_allowed_once() -> None:
    allowed = (
        header(options_response(1, "X-Own, tus-resumable").headers, "access-control-allow-headers") or ""
    )

    names = [name.strip().lower() for name in allowed.split(",")]
    assert names.count("x-own") == names.count("tus-resumable") == 1
