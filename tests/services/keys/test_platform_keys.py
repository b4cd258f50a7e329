"""The platform's own keys, and the file of signing keys as it changes."""

import json
from pathlib import Path

import pytest

from schemas.keys.key_rotation import list_text, new_list, rotate
from schemas.keys.secret import Secret
from schemas.keys.signing import new_signing_key, public_keys
from schemas.settings.tree import Auth, SettingsError
from services.keys.platform_keys import PlatformKeys


def ids(own: PlatformKeys) -> list[str | None]:
    return [key.id for key in own.keys.keys]


def kids(text: str) -> list[str]:
    return [entry["kid"] for entry in json.loads(text)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(new_list())
    return path


def test_the_secret_stands_first_and_the_file_is_added(file: Path) -> None:
    own = PlatformKeys(Auth(signing_keys_path=str(file)))

    assert ids(own) == [None, *kids(file.read_text())]


def test_a_file_that_is_as_it_was_is_not_read_again(file: Path) -> None:
    own = PlatformKeys(Auth(signing_keys_path=str(file)))
    before = own.keys

    assert not own.reload_if_changed()
    assert own.keys is before


def test_each_step_of_a_rotation_is_taken_over_once(file: Path) -> None:
    own = PlatformKeys(Auth(signing_keys_path=str(file)))
    for count in (2, 2, 1, 2):
        done = rotate(file.read_text())
        replacement = file.with_suffix(".new")
        replacement.write_text(done.text)
        replacement.replace(file)

        assert own.reload_if_changed()
        assert ids(own) == [None, *kids(done.text)]
        assert len(ids(own)) == 1 + count
        assert not own.reload_if_changed()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "[",
        "[]",
        "[7]",
        "\udcff",
        list_text([{**new_signing_key(), "key_ops": ["verify"]}]),
        list_text([new_signing_key(), new_signing_key()]),
        list_text([{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]),
    ],
    ids=range(9),
)
def test_a_file_that_cannot_be_used_changes_nothing_and_is_told_once(
    file: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = PlatformKeys(Auth(signing_keys_path=str(file)))
    before = own.keys
    file.write_text(text, errors="surrogateescape")

    assert not own.reload_if_changed()
    assert not own.reload_if_changed()
    assert own.keys is before
    assert "".join(capsys.readouterr()).count("the previous keys stay in use") == 1

    file.write_text(new_list())
    assert own.reload_if_changed()


def test_a_file_that_is_gone_changes_nothing(file: Path) -> None:
    own = PlatformKeys(Auth(signing_keys_path=str(file)))
    before = own.keys
    file.unlink()

    assert not own.reload_if_changed()
    assert own.keys is before


def test_an_edge_may_have_a_copy_with_public_halves_only(file: Path) -> None:
    text = file.read_text()
    file.write_text(json.dumps(public_keys(text)))

    assert ids(PlatformKeys(Auth(signing_keys_path=str(file)))) == [None, *kids(text)]


@pytest.mark.parametrize("text", ["", "[", "[]"])
def test_a_file_that_cannot_be_used_ends_the_start(file: Path, text: str) -> None:
    file.write_text(text)

    with pytest.raises(SettingsError, match="cannot be used"):
        PlatformKeys(Auth(signing_keys_path=str(file)))


def test_valid_methods_narrow_the_keys(file: Path) -> None:
    def methods(*named: str) -> list[str | None]:
        return ids(PlatformKeys(Auth(signing_keys_path=str(file), jwt_valid_methods=list(named))))

    own = kids(file.read_text())
    assert methods() == [None, *own]
    assert methods("ES256") == own
    assert methods("HS256") == [None]
    assert methods("RS256", "EdDSA") == []


def test_keys_of_the_settings_stand_beside_those_of_the_file(file: Path) -> None:
    listed = new_list()
    own = PlatformKeys(Auth(signing_keys_path=str(file), jwt_keys=Secret(listed)))

    assert ids(own) == [None, *kids(listed), *kids(file.read_text())]


def test_a_relative_path_is_one_beside_the_config(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_CONFIG", str(tmp_path / "config.toml"))

    assert len(ids(PlatformKeys(Auth(signing_keys_path="./keys.json")))) == 2
