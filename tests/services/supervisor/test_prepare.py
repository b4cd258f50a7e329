import json
from dataclasses import asdict

import pytest

from broker.subject_rights import EDGE_USER
from schemas.settings.environment import own_name
from schemas.settings.forms import KINDS
from schemas.settings.reading import load_settings
from services.supervisor.api_keys import keys_of
from services.supervisor.data_folder.folder import create_data_folder, read_ports
from services.supervisor.environment import children_environment, login_environment, platform_variable
from services.supervisor.errors import StartRefused
from services.supervisor.ports import Ports
from services.supervisor.postgres import server
from services.supervisor.postgres.programs import major_version
from services.supervisor.prepare import end_first_start, prepare
from services.supervisor.processes.forks import is_supported
from services.supervisor.processes.plan import ConnectionUrls, EmbeddedServer, PartSelection, make_plan
from services.supervisor.project.settings import load_project
from workers.management.areas.settings.entries import SET_BY_START


def project_of(root, **environment):
    return load_project(root, None, None, {"HEADWATER_API_PORT": "0"}, environment)


def test_children_hear_of_the_settled_ports_and_of_no_url_with_higher_rights(open_tmp):
    project = project_of(
        open_tmp,
        HEADWATER_DB_URL="postgresql://owner@h/d",
        DATABASE_URL="postgresql://app@h/d",
        HEADWATER_NATS="x",
        HOME="/h",
    )
    folder = create_data_folder(project.data)
    environment = children_environment(project, folder, Ports(7, 8, 9), keys_of(project.settings.auth))

    assert environment["HEADWATER_API_PORT"] == "7"
    assert environment["HEADWATER_DB_PORT"] == "8"
    assert environment["HEADWATER_BROKER_PORT"] == "9"
    assert environment["HOME"] == "/h"
    assert not {"HEADWATER_DB_URL", "DATABASE_URL"} & environment.keys()
    assert "HEADWATER_CONFIG" not in environment


def test_children_hear_the_names_of_the_official_auth_server_but_not_its_database_url(open_tmp):
    (open_tmp / ".env").write_text("GOTRUE_SITE_URL=https://shop.example\nSITE_URL=x")
    project = project_of(open_tmp, GOTRUE_SMTP_PORT="25", GOTRUE_DB_DATABASE_URL="postgres://auth:pw@h/d")
    folder = create_data_folder(project.data)
    environment = children_environment(project, folder, Ports(7, 8, 9), keys_of(project.settings.auth))
    settings, warnings = load_settings(b"", environment)

    assert (settings.auth.site_url, settings.auth.email.smtp.port) == ("https://shop.example", 25)
    assert warnings == []
    assert "GOTRUE_DB_DATABASE_URL" not in environment
    assert "SITE_URL" not in environment


def test_children_hear_where_the_file_of_signing_keys_is_whatever_folder_they_run_in(open_tmp):
    def told(**environment):
        project = project_of(open_tmp, **environment)
        keys = keys_of(project.settings.auth)
        found = children_environment(project, create_data_folder(project.data), Ports(7, 8, 9), keys)
        return found.get("HEADWATER_AUTH_SIGNING_KEYS_PATH")

    assert told() is None
    assert told(HEADWATER_AUTH_SIGNING_KEYS_PATH="keys.json") == str(open_tmp / "keys.json")
    assert told(HEADWATER_AUTH_SIGNING_KEYS_PATH="/etc/keys.json") == "/etc/keys.json"

    (open_tmp / "supabase").mkdir()
    (open_tmp / "supabase" / "config.toml").write_text('[auth]\nsigning_keys_path = "./keys.json"')
    assert told() == str(open_tmp / "supabase" / "keys.json")


def test_administrators_see_of_each_variable_that_the_start_has_set_it(open_tmp):
    (open_tmp / "supabase").mkdir()
    (open_tmp / "supabase" / "config.toml").write_text(
        """
        [auth]
        signing_keys_path = "keys.json"
        [certificates]
        directory_ca = "ca.pem"
        [api.tls]
        enabled = true
        cert_path = "a.pem"
        key_path = "a.key"
        """
    )
    project = project_of(open_tmp)
    folder = create_data_folder(project.data)
    server = EmbeddedServer((), {}, "")
    plan = make_plan(
        project.settings,
        PartSelection(),
        python=("python",),
        environment=children_environment(
            project, folder, Ports(1, 2, 3, 4, 5, 6), keys_of(project.settings.auth)
        ),
        links=ConnectionUrls(
            "db", "owner", "edge", "pool", "changes", passwords=login_environment(project, folder)
        ),
        postgres=server,
        nats=server,
    )
    [management] = [child for child in plan if "management" in child.argv]

    added = management.environment.keys() - project.environment.keys()

    assert added & {own_name(path) for path in KINDS} <= SET_BY_START


def test_a_platform_is_prepared_from_nothing(open_tmp, notes):
    project = project_of(open_tmp)
    folder = create_data_folder(project.data)
    prepared = prepare(project, PartSelection(), folder, notes)
    children = {child.name: child for child in prepared.plan}
    passwords = json.loads(folder.passwords.read_text())

    assert list(children) == [
        *(["fork-server"] if is_supported() else []),
        "postgres",
        "nats",
        "migrate",
        "pools",
        "changes",
        "images",
        "functions",
        "edges",
    ]
    assert passwords[EDGE_USER] in children["edges"].environment["HEADWATER_BROKER_URL"]
    assert passwords["pool"] in children["pools"].environment["HEADWATER_BROKER_URL"]
    assert passwords["database"] in children["migrate"].environment["HEADWATER_MIGRATE_URL"]
    assert passwords["database"] not in str(children["pools"].environment)
    assert read_ports(folder) == {**asdict(prepared.ports), "HEADWATER_API_PORT": 0}
    assert [name for name, port in asdict(prepared.ports).items() if not port] == ["pooler", "stream_nats"]
    assert not any(
        secret in " ".join(child.argv) for child in children.values() for secret in passwords.values()
    )


def _with_database(project, folder, notes):
    """Prepare a platform whose first start ended after it had created its database."""
    prepared = prepare(project, PartSelection(), folder, notes)
    prepared.cluster.data.mkdir()
    (prepared.cluster.data / "PG_VERSION").write_text(f"{major_version(prepared.cluster.programs)}\n")
    return prepared


def test_a_first_start_that_failed_is_one_until_its_link_was_shown(open_tmp, notes):
    project = project_of(open_tmp)
    folder = create_data_folder(project.data)

    assert _with_database(project, folder, notes).is_new
    assert prepare(project, PartSelection(), folder, notes).is_new
    end_first_start(folder)
    assert not prepare(project, PartSelection(), folder, notes).is_new


def test_a_lost_password_is_stored_when_the_database_has_the_new_one(open_tmp, notes, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    project, set_in_database = project_of(open_tmp), []
    folder = create_data_folder(project.data)
    _with_database(project, folder, notes)
    folder.passwords.unlink()
    monkeypatch.setattr(server, "renew_password", killed)
    with pytest.raises(KeyboardInterrupt):
        prepare(project, PartSelection(), folder, notes)
    monkeypatch.setattr(server, "renew_password", lambda _, password, __: set_in_database.append(password))

    prepare(project, PartSelection(), folder, notes)

    assert set_in_database == [json.loads(folder.passwords.read_text())["database"]]


def test_a_superuser_of_its_own_migrates_an_outside_database_and_nothing_else_gets_it(open_tmp, notes):
    superuser = "postgresql://supabase_admin:pw@127.0.0.1:5/d"
    own = {"HEADWATER_MIGRATE_URL": superuser, "HEADWATER_DB_URL": "postgresql://postgres:pw@127.0.0.1:5/d"}
    project = project_of(open_tmp, **own)
    prepared = prepare(project, PartSelection(), create_data_folder(project.data), notes)
    children = {child.name: child for child in prepared.plan}
    platform = json.loads(children["migrate"].environment["HEADWATER_PLATFORM"])

    assert [name for name, child in children.items() if superuser in child.environment.values()] == [
        "migrate"
    ]
    assert children["functions"].environment["HEADWATER_EDGE_RUNTIME_DB_URL"] == own["HEADWATER_DB_URL"]
    assert (platform["folder"], platform["has_own_broker"]) == (str(project.data), True)
    assert platform == json.loads(
        platform_variable(project, create_data_folder(project.data))["HEADWATER_PLATFORM"]
    )


def test_an_outside_database_is_used_as_two_roles(open_tmp, notes):
    project = project_of(
        open_tmp,
        HEADWATER_DB_URL="postgresql://owner:pw@127.0.0.1:5/d",
        HEADWATER_BROKER_URL="nats://127.0.0.1:6",
    )
    prepared = prepare(project, PartSelection(), create_data_folder(project.data), notes)
    children = {child.name: child for child in prepared.plan}

    assert [name for name in children if name != "fork-server"] == [
        "migrate", "pools", "changes", "images", "functions", "edges",
    ]  # fmt: skip
    assert children["migrate"].environment["HEADWATER_MIGRATE_URL"] == "postgresql://owner:pw@127.0.0.1:5/d"
    assert (
        children["pools"].environment["HEADWATER_DB_URL"]
        == "postgresql://authenticator:postgres@127.0.0.1:5/d"
    )
    assert children["pools"].environment["HEADWATER_BROKER_URL"] == "nats://127.0.0.1:6"


def test_two_migrations_of_one_version_are_refused_before_the_database_is_made(open_tmp, notes):
    migrations = open_tmp / "supabase" / "migrations"
    migrations.mkdir(parents=True)
    for name in ("1_a.sql", "1_b.sql", "1.sql", "2_c.sql"):
        (migrations / name).write_text("select 1")
    project = project_of(open_tmp)
    folder = create_data_folder(project.data)

    with pytest.raises(StartRefused, match=r"1_a\.sql and 1_b\.sql have the same version 1\. Give"):
        prepare(project, PartSelection(), folder, notes)

    assert not folder.postgres.exists()
