"""[backup]: values that cannot work are refused with the key, and no secret is in a sentence."""

import base64

import msgspec
import pytest

from schemas.keys.secret import Secret
from schemas.settings.backup import Backup
from schemas.settings.backup_checks import backup_fault, backup_keys, missing_secret
from schemas.settings.reading import load_settings
from schemas.settings.storage import S3
from schemas.settings.tree import SettingsError

KEY, OTHER = (base64.b64encode(bytes([byte]) * 32).decode() for byte in (1, 2))
ON = Backup(continuous=True, path="/mnt/backups", key=Secret(KEY))


def test_the_defaults_and_a_folder_are_right() -> None:
    assert backup_fault(Backup()) is None
    assert backup_fault(ON) is None
    # Amazon's own address needs no endpoint.
    assert backup_fault(msgspec.structs.replace(ON, backend="s3", s3=S3(bucket="b"))) is None
    assert missing_secret(ON) is None


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"backend": "tape"}, "{backup.backend}"),
        ({"path": "relative"}, "{backup.path}"),
        ({"path": ""}, "{backup.path}"),
        ({"key": Secret("short")}, "{backup.key}"),
        ({"old_keys": Secret(f"{OTHER},x")}, "{backup.old_keys}"),
        ({"wal_limit": 1024}, "{backup.wal_limit}"),
        ({"base_interval": 1}, "{backup.base_interval}"),
        ({"incrementals": 31}, "{backup.incrementals}"),
        ({"drill_webhook": Secret("ftp://alarms.test")}, "{backup.drill_webhook}"),
        ({"drill_webhook_secret": Secret("whsec_c2hvcnQ=")}, "{backup.drill_webhook_secret}"),
        ({"backend": "s3"}, "{backup.s3.bucket}"),
        ({"backend": "azure"}, "{backup.azure.container}"),
        ({"backend": "s3", "s3": S3(bucket="b", endpoint="ftp://x")}, "{backup.s3.endpoint}"),
        (
            {"backend": "s3", "s3": S3(bucket="b", endpoint="http://x", allow_http=False)},
            "{backup.s3.allow_http}",
        ),
    ],
)
def test_a_value_that_cannot_work_is_refused_with_its_key(changed: dict[str, object], key: str) -> None:
    sentence = backup_fault(msgspec.structs.replace(ON, **changed)) or ""

    assert key in sentence
    assert KEY not in sentence
    assert "short" not in sentence


def test_the_secrets_that_are_needed_are_named() -> None:
    assert "headwater keys --backup" in (missing_secret(Backup(continuous=True)) or "")
    half = msgspec.structs.replace(ON, backend="s3", s3=S3(bucket="b", access_key_id=Secret("id")))
    assert "backup.s3.secret_access_key" in (missing_secret(half) or "")


def test_the_first_key_encrypts_and_old_ones_follow() -> None:
    keys = backup_keys(msgspec.structs.replace(ON, old_keys=Secret(f" {OTHER} ,")))

    assert keys == [bytes([1]) * 32, bytes([2]) * 32]


def test_the_environment_sets_it() -> None:
    settings, _ = load_settings(
        b"[backup]\npath = '/x'\n",
        {
            "HEADWATER_BACKUP_CONTINUOUS": "true",
            "HEADWATER_BACKUP_KEY": KEY,
            "HEADWATER_BACKUP_INTERVAL": "2",
        },
        source="config.toml",
    )

    assert (settings.backup.continuous, settings.backup.path, settings.backup.interval) == (True, "/x", 2.0)
    assert repr(settings.backup.key) == "***"
    with pytest.raises(SettingsError, match=r"HEADWATER_BACKUP_PATH|backup\.path"):
        load_settings(b"", {"HEADWATER_BACKUP_CONTINUOUS": "true", "HEADWATER_BACKUP_PATH": "x"}, source="")
