"""The file of signing keys as it is read, and what edges take from it."""

import json
from pathlib import Path

import pytest

from broker.processes.key_file import read_key_file, verifying_keys
from schemas.keys.key_rotation import list_text, new_list
from schemas.keys.signing import new_signing_key, public_keys
from schemas.settings.tree import SettingsError


def test_the_text_of_the_file_is_given(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("[1]")

    assert read_key_file(tmp_path / "keys.json") == "[1]"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\xff", "is no UTF-8"),
        (b"x" * (1024 * 1024 + 1), "is longer than"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_by_the_name_of_its_setting(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "keys.json").write_bytes(content)

    with pytest.raises(SettingsError, match=rf"auth\.signing_keys_path .*{words}"):
        read_key_file(tmp_path / "keys.json")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Is a directory"):
        read_key_file(tmp_path)


def test_lists_that_sign_and_lists_of_public_halves_verify() -> None:
    text = new_list()

    assert verifying_keys(text) == verifying_keys(json.dumps(public_keys(text)))


@pytest.mark.parametrize(
    "text",
    [
        list_text([{**new_signing_key(), "key_ops": ["verify"]}]),
        list_text([new_signing_key(), new_signing_key()]),
        list_text([{"kty": "oct", "k": "AAAA", "key_ops": ["verify"]}]),
        "[",
        "[]",
    ],
)
def test_a_list_with_private_keys_that_could_not_sign_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"sign|empty|list"):
        verifying_keys(text)
