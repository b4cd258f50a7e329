"""What a branch takes from the settings of its parent: no secret, no service elsewhere, no address."""

from pathlib import Path

import pytest

from schemas.branches import BranchRecord, BranchSecrets
from schemas.settings.cleared import ClearedKeys
from schemas.settings.forms import KINDS, holds_secret
from schemas.settings.overlay import value_at
from schemas.settings.tree import DEVELOPMENT_JWT_SECRET, Settings
from services.supervisor.branches import overrides
from services.supervisor.branches.record import OWN_SETTINGS, write_record
from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import Project, load_project

OWN = BranchSecrets("j" * 40, "sb_publishable_own", "sb_secret_own", "own password")
CONFIG = """
[api]
external_url = "https://api.example.com"
max_rows = 7
[api.tls]
enabled = true
[auth]
jwt_secret = "env(PARENTS_SECRET)"
site_url = "https://example.com"
[auth.email.smtp]
host = "mail.example.com"
port = 25
user = "u"
pass = "env(SMTP_PASSWORD)"
admin_email = "a@example.com"
[auth.sms.twilio]
enabled = true
account_sid = "sid"
message_service_sid = "mid"
auth_token = "token"
[auth.external.github]
enabled = true
client_id = "id"
secret = "secret"
[auth.hook.custom_access_token]
enabled = true
uri = "pg-functions://postgres/public/claims"
[auth.hook.send_email]
enabled = true
uri = "https://hooks.example.com/mail"
secrets = "v1,whsec_dGhpcyBpcyBhIHNlY3JldCBvZiAzMiBieXRlcyEh"
[storage]
webhook_url = "https://hooks.example.com/files"
[edge_runtime.secrets]
STRIPE = "sk_live"
[functions.pay]
verify_jwt = false
[functions.pay.env]
STRIPE = "sk_live"
[db.replicas]
urls = "postgresql://reader@replica.example.com"
roles = ["anon"]
[db.settings]
archive_mode = "on"
archive_command = "cp %p /archive/%f"
work_mem = "8MB"
[backup]
continuous = true
key = "a2V5IG9mIDMyIGJ5dGVzIGZvciB0aGVzZSB0ZXN0cyE="
path = "/archive"
[observability]
otlp_endpoint = "https://traces.example.com"
"""


def branch_of(folder: Path, environment: dict[str, str] | None = None, **options: str) -> Project:
    """Return the project as a branch reads it, which inherits an environment."""
    (folder / "supabase").mkdir(exist_ok=True)
    (folder / "supabase" / "config.toml").write_text(CONFIG)
    data = folder / "data"
    data.mkdir(exist_ok=True)
    write_record(data, BranchRecord("preview", "/parent", 0.0, True, OWN))
    inherited = {"SMTP_PASSWORD": "p", "PARENTS_SECRET": "x" * 40, **(environment or {})}
    return load_project(folder, None, data, options, inherited)


def test_every_key_that_holds_a_secret_is_cleared_or_the_branchs_own():
    cleared = ClearedKeys(overrides.CLEARED)

    assert {".".join(path) for path, kind in KINDS.items() if holds_secret(kind)} == {
        ".".join(path) for path, kind in KINDS.items() if holds_secret(kind) and cleared.has(".".join(path))
    }
    assert cleared.has("functions.pay.env")
    assert not cleared.has("functions.pay.verify_jwt")


def test_secrets_and_services_of_the_file_are_not_taken(tmp_path: Path):
    settings, default = branch_of(tmp_path).settings, Settings()

    for path, kind in KINDS.items():
        key = ".".join(path)
        if holds_secret(kind) and key not in (
            "auth.jwt_secret", "auth.publishable_key", "auth.secret_key", "db.password", "inbucket.key",
        ):  # fmt: skip
            assert value_at(settings, key) == value_at(default, key), key
    assert settings.auth.jwt_secret.reveal() == OWN.jwt_secret
    assert settings.db.password.reveal() == OWN.db_password
    assert (settings.auth.email.smtp.host, settings.auth.sms.sender) == ("", None)
    assert not settings.auth.external.github.enabled
    assert (settings.api.external_url, settings.api.tls.enabled, settings.backup.continuous) == (
        "",
        False,
        False,
    )
    assert not settings.scheduler.enabled
    assert settings.db.replicas == default.db.replicas
    assert settings.observability.otlp_endpoint == default.observability.otlp_endpoint
    assert settings.functions["pay"].env == {}
    assert not settings.functions["pay"].verify_jwt
    assert (settings.api.max_rows, settings.auth.site_url) == (7, "https://example.com")


def test_hooks_in_the_database_stay_and_others_go(tmp_path: Path):
    hooks = branch_of(tmp_path).settings.auth.hook

    assert hooks.custom_access_token.enabled
    assert not hooks.send_email.enabled
    assert hooks.send_email.uri == ""


def test_the_environment_of_the_parent_means_no_more_than_its_file(tmp_path: Path):
    settings = branch_of(
        tmp_path,
        {
            "HEADWATER_AUTH_JWT_SECRET": "y" * 40,
            "HEADWATER_AUTH_EMAIL_SMTP_HOST": "mail.example.org",
            "GOTRUE_SMTP_HOST": "mail.example.net",
            "GOTRUE_SMS_PROVIDER": "twilio",
            "HEADWATER_AUTH_HOOK_SEND_SMS_URI": "https://hooks.example.com/sms",
            "HEADWATER_AUTH_HOOK_SEND_SMS_ENABLED": "true",
            "HEADWATER_SCHEDULER_ENABLED": "true",
            "HEADWATER_DB_URL": "postgresql://postgres@db.example.com/postgres",
            "HEADWATER_API_MAX_ROWS": "9",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "https://traces.example.org",
            "HEADWATER_BACKUP_KEY": "a2V5IG9mIDMyIGJ5dGVzIGZvciB0aGVzZSB0ZXN0cyE=",
        },
    ).settings

    assert settings.auth.jwt_secret.reveal() == OWN.jwt_secret
    assert (settings.auth.email.smtp.host, settings.auth.sms.sender, settings.db.url) == ("", None, None)
    assert not settings.auth.hook.send_sms.enabled
    assert not settings.scheduler.enabled
    assert settings.observability.otlp_endpoint == Settings().observability.otlp_endpoint
    assert settings.backup.key is None
    assert settings.api.max_rows == 9


def test_children_of_a_branch_read_the_same(tmp_path: Path):
    project = branch_of(tmp_path, {"HEADWATER_AUTH_EMAIL_SMTP_HOST": "mail.example.org"})

    assert "HEADWATER_AUTH_EMAIL_SMTP_HOST" not in project.environment
    assert "HEADWATER_CLEARED_SETTINGS" in project.environment
    assert DEVELOPMENT_JWT_SECRET not in project.environment.values()


def test_server_settings_of_the_parents_archive_and_standbys_are_left_out(tmp_path: Path):
    settings = branch_of(tmp_path).settings.db.settings
    lines = "# comment\nwork_mem = '8MB'\narchive_command = 'x'\nprimary_conninfo = 'host=a'\nmax_logical_replication_workers = '4'\n"

    assert settings == {"work_mem": "8MB", "max_logical_replication_workers": "0"}
    assert overrides.safe_server_lines(lines) == "# comment\nwork_mem = '8MB'\n"


def test_the_branchs_own_settings_win_save_over_what_is_the_same_for_all(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / OWN_SETTINGS).write_text(
        "HEADWATER_AUTH_EMAIL_SMTP_HOST=mailtrap.example.com\nHEADWATER_AUTH_EMAIL_SMTP_ADMIN_EMAIL=b@example.com\n"
        "HEADWATER_SCHEDULER_ENABLED=true\nOTHER=1\n"
    )
    project = branch_of(tmp_path)

    assert project.settings.auth.email.smtp.host == "mailtrap.example.com"
    assert not project.settings.scheduler.enabled
    assert [line.split()[0] for line in project.warnings if "branch.env" in line] == [
        "HEADWATER_SCHEDULER_ENABLED", "OTHER",
    ]  # fmt: skip


def test_ports_are_free_ones_unless_an_option_names_them(tmp_path: Path):
    assert branch_of(tmp_path, {"HEADWATER_API_PORT": "54321"}).settings.api.port == 0
    assert branch_of(tmp_path, HEADWATER_API_PORT="4000").settings.api.port == 4000


def test_outside_servers_are_refused(tmp_path: Path):
    with pytest.raises(StartRefused, match="--nats-url"):
        branch_of(tmp_path, HEADWATER_BROKER_URL="nats://127.0.0.1:4222")


def test_a_damaged_record_starts_nothing(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "branch.json").write_text("{")

    with pytest.raises(StartRefused, match="damaged"):
        load_project(tmp_path, None, tmp_path / "data", {}, {})


def test_a_branch_takes_its_own_block_and_of_the_parents_what_is_not_the_parents_alone(tmp_path: Path):
    blocks = """
    [remotes.production]
    project_id = "abcdefghijklmnopqrst"
    [remotes.production.api]
    max_rows = 9
    [remotes.production.auth.hook.send_sms]
    enabled = true
    uri = "https://hooks.example.com/sms"
    secrets = "v1,whsec_dGhpcyBpcyBhIHNlY3JldCBvZiAzMiBieXRlcyEh"
    [remotes.preview.auth]
    site_url = "https://preview.example.com"
    """
    (tmp_path / "supabase").mkdir()
    config = tmp_path / "supabase" / "other.toml"
    config.write_text(CONFIG + blocks)
    inherited = {
        "SMTP_PASSWORD": "p",
        "PARENTS_SECRET": "x" * 40,
        "HEADWATER_MANAGEMENT_PROJECT_REF": "abcdefghijklmnopqrst",
    }
    data = tmp_path / "data"
    data.mkdir()
    parents = load_project(tmp_path, config, data, {}, inherited)
    write_record(data, BranchRecord("preview", "/parent", 0.0, True, OWN))
    branch = load_project(tmp_path, config, data, {}, inherited)

    assert (parents.remotes, branch.remotes) == (("production",), ("production", "preview"))
    assert parents.settings.auth.hook.send_sms.enabled
    assert not branch.settings.auth.hook.send_sms.enabled
    assert (branch.settings.api.max_rows, branch.settings.auth.site_url) == (9, "https://preview.example.com")
    assert branch.settings.management.project_ref == ""
