"""What [db.tls] makes of the rules and addresses of the database, and what it refuses."""

from pathlib import Path

import pytest

from schemas.keys.secret import Secret
from schemas.settings.reading import load_settings
from schemas.settings.tree import DatabaseTls, Db, Settings, SettingsError
from services.supervisor.binaries import find_postgres
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.errors import StartRefused
from services.supervisor.exposure import check_exposure, exposure_warnings
from services.supervisor.postgres.certificate_copy import CertificateCopy
from services.supervisor.postgres.tls import (
    ServerTls,
    access_rules,
    certificate_sources,
    check_database_tls,
    listen_addresses,
    server_tls_settings,
)
from services.supervisor.self_signed_process import ensure_certificate

HOME = Path("/data/postgres")


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("::", "127.0.0.1,::"),
        ("192.0.2.7", "127.0.0.1,192.0.2.7"),
    ],
)
def test_servers_listen_on_loopback_and_on_the_named_address(host: str, addresses: str) -> None:
    assert listen_addresses(ServerTls(DatabaseTls(host=host), HOME)) == addresses
    assert listen_addresses(None) == "127.0.0.1"


def test_rules_name_each_login_and_network_and_demand_tls() -> None:
    tls = ServerTls(DatabaseTls(roles=["postgres", "clerk"], networks=["10.0.0.0/8", "::1"]), HOME)

    assert access_rules(tls, "all").splitlines() == [
        'hostssl all "postgres" 10.0.0.0/8 scram-sha-256',
        'hostssl all "postgres" ::1/128 scram-sha-256',
        'hostssl all "clerk" 10.0.0.0/8 scram-sha-256',
        'hostssl all "clerk" ::1/128 scram-sha-256',
    ]
    assert access_rules(None, "all") == ""
    assert server_tls_settings(tls)["ssl_key_file"] == "/data/postgres/tls/key.pem"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('roles = ["supabase_admin"]', "a login of the platform itself"),
        ('roles = ["headwater_login_x"]', "a login of the platform itself"),
        ('roles = ["+postgres"]', "which is no name of letters"),
        ('roles = ["/.*"]', "which is no name of letters"),
        ('roles = ["a\\" trust #"]', "which is no name of letters"),
        ('networks = ["all"]', "which is no network"),
        ('networks = ["10.0.0.1/8"]', "which is no network"),
        ('host = "0.0.0.0 trust"', "must be an address of this machine"),
        ('enabled = true\ncert_path = "a.pem"', "belong together"),
    ],
)
def test_values_that_would_change_the_meaning_of_a_rule_are_refused(line: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load_settings(f"[db.tls]\n{line}\n".encode(), {}, source="config.toml")


def test_the_published_password_is_not_exposed_and_the_embedded_server_says_what_it_lacks() -> None:
    with pytest.raises(StartRefused, match="HEADWATER_DB_PASSWORD"):
        check_exposure(Settings(db=Db(tls=DatabaseTls(enabled=True, host="0.0.0.0"))))
    with pytest.raises(StartRefused, match=r"--pooler.*--postgres"):
        check_database_tls(Settings(db=Db(tls=DatabaseTls(enabled=True))), find_postgres())


@pytest.mark.parametrize(
    ("database", "words"),
    [
        (Db(tls=DatabaseTls(host="0.0.0.0")), "without db.tls.enabled"),
        (Db(tls=DatabaseTls(enabled=True), url=Secret("postgresql://x@y/z")), "no effect on that of db.url"),
    ],
)
def test_what_has_no_effect_is_said(database: Db, words: str) -> None:
    assert [words in warning for warning in exposure_warnings(Settings(db=database))] == [True]


def test_the_copy_follows_the_first_usable_certificate_and_keeps_the_last_one(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.tls.mkdir()
    ensure_certificate(folder.certificate, folder.certificate_key, ["localhost"])
    settings, _ = load_settings(
        b"[db.tls]\nenabled = true\n[certificates]\ndomains = ['a.example.org']\naccept_terms = true\n",
        {},
        source="config.toml",
    )
    tls = ServerTls(settings.db.tls, tmp_path / "postgres")
    tls.home.mkdir()
    sources = certificate_sources(settings, folder, [tmp_path])
    copy = CertificateCopy(sources, tls, None)
    copy.create()
    first = tls.certificate.read_bytes()
    unchanged = copy.renew()
    issued, key = sources[0]
    issued.parent.mkdir()
    ensure_certificate(issued, key, ["a.example.org"])
    renewed = copy.renew()
    second = tls.certificate.read_bytes()
    key.write_text("damaged")
    folder.certificate.unlink()
    fault = copy.renew()

    assert first != second == issued.read_bytes()
    assert (unchanged, renewed) == (None, "")
    assert fault == "it is no certificate with its key in PEM"
    assert tls.certificate.read_bytes() == second
    assert tls.key.stat().st_mode & 0o077 == 0
