"""What a branch takes over: of the settings that administrators stored, and of the platform's own tables."""

import re
from pathlib import Path

from schemas.settings.cleared import ClearedKeys
from services.supervisor.branches.overrides import stored_patterns
from workers.branches.prepare_copy import taken_over
from workers.settings.sealed_values import StoredSettings, StoredValue
from workers.sql.files import read_statements


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


KEPT = {
    "dismissed_findings": "findings of the advisors about the schema, which the branch has too",
    "jobs": "which durable jobs there are; in a branch no run of the parent's is left",
    "queue_consumers": "which consumers are paused; in a branch none runs",
    "stored_settings": "sealed anew, without those that a branch does not take over",
}
"""Tables of the platform's own schema whose rows a branch keeps."""


def test_each_table_of_the_platform_is_emptied_or_kept_for_a_reason() -> None:
    migrations = Path(__file__).parents[3] / "schemas" / "migrations"
    texts = [path.read_text() for path in migrations.rglob("*.sql")]
    tables = {
        name
        for text in texts
        for name in re.findall(r"create table if not exists headwater(?:_jobs)?\.(\w+)", text)
    }
    emptying = read_statements("workers.branches", "prepare_copy.sql")["empty_own_tables"]

    undecided = {
        name
        for name in tables - KEPT.keys()
        if f"'{name}'" not in emptying and not name.startswith("administrator")
    }
    assert undecided == set()
    assert KEPT.keys() <= tables
