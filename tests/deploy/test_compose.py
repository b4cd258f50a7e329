"""The compose file says what the programs take: commands, settings, secrets, dependencies, health checks.

Containers are not run here. The topology it describes runs as plain processes in tests/platforms/test_topology.py.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from broker.processes.secret_files import SUFFIX, with_file_values
from schemas.settings.backup_checks import missing_secret
from schemas.settings.environment import environment_names
from schemas.settings.process_environment import PROCESS_VARIABLES
from schemas.settings.reading import load_settings
from services.__main__ import EDGES
from services.supervisor.deployment import ServerAddresses, deployment_secrets
from services.supervisor.processes.plan import POOLS
from workers.__main__ import ALONE

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service.get("image") == "headwater:local"}
SERVICE_KEYS = {
    "build", "command", "depends_on", "deploy", "entrypoint", "environment", "expose", "healthcheck", "image", "init",
    "logging", "ports", "read_only", "restart", "secrets", "security_opt", "shm_size", "stop_grace_period", "stop_signal", "tmpfs", "volumes",
}  # fmt: skip
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
DURATION = re.compile(r"(\d+(ms|s|m|h))+")
SIZE = re.compile(r"\d+[bkmgBKMG]")
JOBS = {"migrate", "s3-bucket"}


def test_only_keys_of_the_specification_are_used() -> None:
    top = {name for name in COMPOSE if not name.startswith("x-")}

    assert top == {"name", "services", "volumes", "networks", "secrets"}
    for service in SERVICES.values():
        assert service.keys() <= SERVICE_KEYS


@pytest.mark.parametrize("name", OURS)
def test_command_is_one_that_the_command_line_takes(name: str) -> None:
    words = OURS[name]["command"]

    assert words[:4] == ["python", "-P", "-m", "headwater"]
    package, *names = words[4:]
    known = {"services": set(EDGES), "workers": {*POOLS, "archive", "migrate"}}[package]
    assert names
    assert set(names) <= known
    assert len(names) == 1 or not set(names) & {*ALONE, "migrate"}


def test_every_pool_runs() -> None:
    running = {word for service in OURS.values() for word in service["command"][5:]}

    assert running == {*POOLS, "archive", "migrate", "gateway"}


@pytest.mark.parametrize("name", OURS)
def test_environment_names_known_settings(name: str) -> None:
    known = environment_names().keys() | PROCESS_VARIABLES.keys()
    given = OURS[name]["environment"]
    names = {each if each in known else each.removesuffix(SUFFIX) for each in given}

    assert names <= known


@pytest.mark.parametrize("name", OURS)
def test_settings_can_be_read(name: str, tmp_path: Path) -> None:
    made = deployment_secrets(ServerAddresses())
    for each, text in made.items():
        (tmp_path / each).write_text(text)
    environment = {
        variable: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", text).replace("/run/secrets", str(tmp_path))
        for variable, text in OURS[name]["environment"].items()
    }

    settings, warnings = load_settings(b"", with_file_values(environment), source="none")

    assert warnings == []
    assert settings.auth.jwt_secret.matches(made["jwt_secret"])
    assert settings.storage.backend == "s3"
    assert (missing_secret(settings.backup) is None) == (name == "archive")
    assert settings.broker.replicas == 3


@pytest.mark.parametrize("name", SERVICES)
def test_secrets_are_declared_granted_and_made(name: str) -> None:
    service = SERVICES[name]
    granted = set(service.get("secrets", []))
    text = str(service.get("environment", "")) + str(service.get("command", ""))
    asked = set(re.findall(r"/run/secrets/([\w.]+)", text))

    assert granted <= COMPOSE["secrets"].keys()
    assert asked <= granted
    assert granted <= deployment_secrets(ServerAddresses()).keys()


def test_no_secret_stands_in_the_environment() -> None:
    for service in SERVICES.values():
        for variable in service.get("environment", {}):
            assert not re.search(r"(PASSWORD|SECRET|_KEY|TOKEN|_URL)$", variable) or variable in (
                "HEADWATER_API_EXTERNAL_URL",
                "HEADWATER_AUTH_SITE_URL",
            )


@pytest.mark.parametrize("name", SERVICES)
def test_dependencies_exist_and_can_be_met(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        assert other in SERVICES
        assert how["condition"] in CONDITIONS
        if how["condition"] == "service_healthy":
            assert "test" in SERVICES[other]["healthcheck"]
        assert (how["condition"] == "service_completed_successfully") == (other in JOBS)


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - JOBS))
def test_services_are_bounded_watched_and_started_again(name: str) -> None:
    service = SERVICES[name]
    limits, check = service["deploy"]["resources"]["limits"], service["healthcheck"]

    assert float(limits["cpus"]) > 0
    assert SIZE.fullmatch(limits["memory"])
    assert service["restart"] == "unless-stopped"
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert DURATION.fullmatch(check["interval"])
    assert DURATION.fullmatch(check["timeout"])


@pytest.mark.parametrize("name", sorted(OURS.keys() - JOBS - {"archive"}))
def test_edges_and_pools_have_a_second_process_and_time_to_drain(name: str) -> None:
    service = OURS[name]

    assert service["deploy"]["replicas"] >= 2
    assert not service.get("ports"), "two processes cannot publish one port"
    drain = int(service["environment"]["HEADWATER_POOLS_DRAIN_TIMEOUT"])
    assert int(service["stop_grace_period"].removesuffix("s")) > drain


def test_the_archive_alone_has_the_key_of_the_backups_and_one_process() -> None:
    with_key = [name for name, service in OURS.items() if "backup_key" in service["secrets"]]

    assert with_key == ["archive"]
    assert OURS["archive"]["deploy"]["replicas"] == 1


def test_the_database_admits_the_archive_and_summarizes_its_log() -> None:
    lines = [
        line.split() for line in (ROOT / "deploy" / "pg_hba.conf").read_text().splitlines() if line[:1] != "#"
    ]

    assert ["host", "replication", "supabase_admin", "samenet", "scram-sha-256"] in lines
    assert {"summarize_wal=on", "hba_file=/etc/postgresql/pg_hba.conf"} <= set(SERVICES["db"]["command"])


def test_alive_file_is_the_one_that_is_looked_at() -> None:
    for name in OURS.keys() - JOBS:
        path = OURS[name]["environment"]["HEADWATER_ALIVE_FILE"]
        assert f"stat -c %Y {path}" in OURS[name]["healthcheck"]["test"][1]


def test_the_health_check_kills_a_process_that_is_silent_and_no_other(tmp_path: Path) -> None:
    command = OURS["gateway"]["healthcheck"]["test"][1].replace("$$", "$")
    alive = tmp_path / "alive"
    check = ["sh", "-c", command.replace("/tmp/alive", str(alive))]
    before_ready = subprocess.run(check, capture_output=True, check=False)
    process = subprocess.Popen(["sleep", "60"])
    alive.write_text(f"{process.pid}\n")
    healthy = subprocess.run(check, check=False)
    still_there = process.poll() is None
    process.send_signal(signal.SIGSTOP)
    long_ago = time.time() - 60
    os.utime(alive, (long_ago, long_ago))

    silent = subprocess.run(check, check=False)

    assert process.wait(10) == -signal.SIGKILL
    assert (before_ready.returncode != 0, healthy.returncode, still_there, silent.returncode) == (
        True,
        0,
        True,
        1,
    )


def test_volumes_and_mounted_files_exist() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./deploy"):
                assert (ROOT / source).is_file()
            elif not source.startswith("."):
                assert source in COMPOSE["volumes"]


def test_graph_of_dependencies_has_no_circle() -> None:
    open_names = {name: set(service.get("depends_on", {})) for name, service in SERVICES.items()}
    while ready := [name for name, needs in open_names.items() if not needs]:
        for name in ready:
            del open_names[name]
        for needs in open_names.values():
            needs.difference_update(ready)

    assert not open_names
