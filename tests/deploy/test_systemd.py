"""The systemd units: accepted by systemd, with settings that can be read, and time to drain."""

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from broker.processes.secret_files import with_file_values
from schemas.settings.reading import load_settings
from services.supervisor.deployment import ServerAddresses, deployment_secrets
from tests.deploy.test_deployment_table import PROCESSES, TABLE

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"
UNITS = sorted(path.name for path in FOLDER.glob("*.service"))
OURS = [name for name in UNITS if name not in ("headwater-nats.service", "headwater-platform.service")]


def lines_of(name: str, key: str) -> list[str]:
    """Return the values of a repeated key."""
    return re.findall(rf"^{key}=(.*)$", (FOLDER / name).read_text(), re.MULTILINE)


def row_of(name: str) -> dict[str, object]:
    return PROCESSES[name.removeprefix("headwater-").removesuffix(".service").removesuffix("@")]


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed (package systemd)")
    names = []
    for path in FOLDER.glob("headwater*"):
        text = path.read_text().replace("/opt/headwater/bin/python", sys.executable)
        text = text.replace("/usr/local/bin/nats-server", "/bin/true")
        text = text.replace("/opt/headwater/bin/headwater", "/bin/true").replace("/srv/headwater", "/")
        text = re.sub(r"^(User|Group)=headwater$", r"\1=root", text, flags=re.MULTILINE)
        (tmp_path / path.name).write_text(text)
        names.append(path.name.replace("@", "@1"))
        if "@" in path.name:
            (tmp_path / path.name.replace("@", "@1")).write_text(text)

    done = subprocess.run(
        [program, "verify", "--man=no", *(str(tmp_path / name) for name in names)],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/sbin:/usr/bin:/bin", "SYSTEMD_LOG_COLOR": "0"},
    )  # fmt: skip

    complaints = [line for line in done.stderr.splitlines() if "headwater" in line or str(tmp_path) in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


@pytest.mark.parametrize("name", OURS)
def test_settings_of_a_unit_can_be_read(name: str, tmp_path: Path) -> None:
    secrets = deployment_secrets(ServerAddresses())
    loaded = dict(line.split(":", 1) for line in lines_of(name, "LoadCredential"))
    for secret in loaded:
        (tmp_path / secret).write_text(secrets[secret])
    lines = (FOLDER / "environment").read_text().splitlines()
    environment = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    for line in lines_of(name, "Environment"):
        variable, _, text = line.partition("=")
        environment[variable] = text.replace("%d", str(tmp_path)).replace("%S", "/var/lib")

    settings, warnings = load_settings(b"", with_file_values(environment), source="none")

    assert warnings == []
    assert settings.auth.jwt_secret.matches(secrets["jwt_secret"])
    assert settings.broker.url is not None
    assert (settings.db.url is not None) == bool(row_of(name).get("has_database"))
    assert settings.pools.drain_timeout == TABLE["drain_s"]


@pytest.mark.parametrize("name", [name for name in OURS if "migrate" not in name])
def test_a_unit_waits_for_ready_watches_and_lets_the_process_drain(name: str) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read(FOLDER / name)
    service = parser["Service"]

    assert (service["type"], service["restart"], service["killmode"]) == ("notify", "always", "mixed")
    assert service.getint("timeoutstopsec") > TABLE["drain_s"]
    assert 2 < service.getint("watchdogsec") <= TABLE["silent_s"]
    words = " ".join(row_of(name)["command"])  # type: ignore[arg-type]  # a list of words
    assert service["execstart"] == f"/opt/headwater/bin/python -P -m headwater {words}"


def test_the_target_starts_two_of_each_process_and_the_migration() -> None:
    wanted = set(lines_of("headwater.target", "Wants"))

    for row in PROCESSES.values():
        if row.get("is_optional"):
            assert not any(f"headwater-{row['name']}@" in name for name in wanted)
        elif row.get("is_job"):
            assert f"headwater-{row['name']}.service" in wanted
        else:
            assert {f"headwater-{row['name']}@{number}.service" for number in (1, 2)} <= wanted


@pytest.mark.parametrize(
    ("name", "row"),
    [("headwater-gateway@", PROCESSES["gateway"]), ("headwater-platform", TABLE["platform"])],
)
def test_ports_of_the_table_are_held_for_the_service_of_the_same_name(
    name: str, row: dict[str, object]
) -> None:
    assert (FOLDER / f"{name}.service").exists()
    ports = [line.rpartition(":")[2] for line in lines_of(f"{name}.socket", "ListenStream")]
    assert sorted(set(ports)) == sorted(str(port) for port in row["listens"])  # type: ignore[attr-defined]  # a list
    assert lines_of(f"{name}.socket", "BindIPv6Only") == ["ipv6-only"], (
        "else clients of IPv4 have other addresses"
    )
    assert lines_of(f"{name}.socket", "Service") == [], "that of its own name"
