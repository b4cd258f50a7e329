"""Tokens in the name of users that cannot be signed."""

from pathlib import Path

import msgspec
import pytest

from schemas.settings.tree import Settings
from workers.management.areas.user_tokens import signed_token
from workers.management.interface.errors import ManagementError


@pytest.mark.parametrize("content", [None, b"", b"no keys"])
def test_a_file_of_keys_that_cannot_be_used_is_an_error_with_its_reason(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "keys.json"
    if content is not None:
        file.write_bytes(content)
    settings = msgspec.structs.replace(Settings().auth, signing_keys_path=str(file))

    with pytest.raises(ManagementError, match=r"cannot be used: .*(cannot be read|empty|JSON)") as raised:
        signed_token({}, settings)

    assert raised.value.status == 503
