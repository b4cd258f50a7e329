import pytest

from schemas.system_errors import system_error_text


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (FileNotFoundError(2, "No such file or directory", "a/b"), "No such file or directory: a/b"),
        (OSError("unreadable"), "unreadable"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_text_has_what_the_system_reported(error: OSError, expected: str) -> None:
    assert system_error_text(error) == expected
