"""What a branch takes over of the settings that administrators stored."""

from schemas.settings.cleared import ClearedKeys
from services.supervisor.branches.overrides import stored_patterns
from workers.branches.prepare_copy import taken_over
from workers.settings.sealed_values import StoredSettings, StoredValue


def test_stored_senders_secrets_and_hooks_elsewhere_are_left_out():
    values = {
        "api.max_rows": 5,
        "auth.email.smtp.host": "mail.example.com",
        "auth.email.smtp.pass": "secret",
        "auth.sms.twilio.enabled": True,
        "auth.external.github.secret": "secret",
        "auth.hook.send_email.uri": "https://hooks.example.com",
        "auth.hook.send_email.enabled": True,
        "auth.hook.custom_access_token.uri": "pg-functions://postgres/public/claims",
        "auth.hook.custom_access_token.enabled": True,
        "management.backup_schedule": "0 3 * * *",
    }
    stored = StoredSettings(4, {key: StoredValue(value, "owner") for key, value in values.items()})

    left = taken_over(stored, ClearedKeys(stored_patterns()))

    assert left.version == 4
    assert list(left.values) == [
        "api.max_rows", "auth.hook.custom_access_token.uri", "auth.hook.custom_access_token.enabled",
    ]  # fmt: skip
