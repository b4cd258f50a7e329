import json
import os
import re
import shlex
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest

from tests.services.cli.conftest import SERVERS_ONLY, interrupt, wait_until

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user of the server")


def ask(values, path):
    """Give the body of an answer of the REST interface; None if there is none."""
    request = urllib.request.Request(
        f"{values['REST_URL']}/{path}", headers={"apikey": values["SERVICE_ROLE_KEY"]}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        pass
    return None


def sentences(text):
    return [line for line in text.splitlines() if line.strip()]


def test_a_start_tells_its_steps_and_addresses_and_a_stop_leaves_nothing(project_folder):
    started = project_folder.run("start", "--detach", *SERVERS_ONLY)
    state = project_folder.state()
    stopped = project_folder.run("stop")

    assert started.returncode == 0, started.stderr
    assert started.stderr == ""
    assert "Making a new database" in started.stdout
    assert f"127.0.0.1:{state['ports']['db']}" in started.stdout
    assert "Headwater is ready after" in started.stdout
    assert stopped.returncode == 0
    assert project_folder.processes() == []
    assert not (project_folder.data / "state.json").exists()


def test_ctrl_c_stops_everything_in_order(project_folder):
    process = project_folder.begin("start", *SERVERS_ONLY)
    for line in process.stdout:
        if "Press Ctrl-C" in line:
            break
    out, err = interrupt(process)

    assert process.returncode == 0, err
    assert sentences(out) == ["Stopping ...", "Stopped"]
    assert err == ""
    assert project_folder.processes() == []


def test_the_whole_platform_serves_tables_and_ends_with_ctrl_c(project_folder):
    process = project_folder.begin("start", "--port", "0")
    for line in process.stdout:
        if "Press Ctrl-C" in line:
            break
    values = json.loads(project_folder.run("status", "-o", "json").stdout)
    project_folder.run(
        "psql", "-c", "create table public.rivers (name text); insert into public.rivers values ('Isar')"
    )
    wait_until(lambda: ask(values, "rivers") == b'[{"name":"Isar"}]')
    out, _ = interrupt(process)

    assert process.returncode == 0
    assert sentences(out)[-1] == "Stopped"
    assert project_folder.processes() == []


@pytest.mark.parametrize("name", ["pools", "edges"])
def test_a_killed_process_of_ours_is_started_again(project_folder, name):
    started = project_folder.run("start", "--detach", "--port", "0")
    assert started.returncode == 0, started.stderr
    values = json.loads(project_folder.run("status", "-o", "json").stdout)
    os.kill(project_folder.child(name)["pid"], signal.SIGKILL)
    wait_until(
        lambda: (
            project_folder.child(name)["restarts"] == 1 and project_folder.child(name)["status"] == "running"
        )
    )

    wait_until(lambda: ask(values, "") is not None)


def test_an_outside_database_and_broker_are_used(servers, project_folder):
    values = json.loads(project_folder.run("status", "-o", "json").stdout)
    owner = values["DB_URL"].replace(
        "postgres:postgres@",
        f"supabase_admin:{json.loads((project_folder.data / 'passwords.json').read_text())['database']}@",
    )
    other = project_folder.root / "other"
    started = project_folder.run(
        "start",
        "--detach",
        *SERVERS_ONLY[:2],
        "--pool",
        "rest",
        "--port",
        "0",
        "--data",
        other,
        HEADWATER_DB_URL=owner,
    )
    state = json.loads((other / "state.json").read_text())
    shown = project_folder.run("psql", "-Atc", "select current_user", "--data", other)
    project_folder.run("stop", "--data", other)

    assert started.returncode == 0, started.stderr
    assert [child["name"] for child in state["children"]] == ["fork-server", "nats", "migrate", "pools"]
    assert shown.stdout == "supabase_admin\n"


def test_a_database_that_is_away_ends_the_start_with_the_reason(project_folder):
    started = project_folder.run(
        "start", "--detach", "--port", "0", HEADWATER_DB_URL="postgresql://a:b@127.0.0.1:1/d"
    )

    assert started.returncode == 1
    assert "database schema" in started.stderr
    assert project_folder.processes() == []


def test_a_platform_whose_terminal_is_gone_runs_on(project_folder):
    process = project_folder.begin("start", *SERVERS_ONLY)
    process.stdout.readline()
    process.stdout.close()
    wait_until(
        lambda: project_folder.run("status").returncode == 0 and project_folder.state()["status"] == "running"
    )
    stopped = project_folder.run("stop")
    process.stderr.close()

    assert stopped.stdout.startswith("Stopped after")
    process.wait(timeout=60)


def test_a_warm_start_keeps_data_and_ports(servers):
    before = servers.state()["ports"]
    servers.run("stop")
    started = servers.run("start", "--detach", *SERVERS_ONLY)

    assert "Making a new database" not in started.stdout
    assert servers.state()["ports"] == before


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_that_has_the_report_of_a_platform_starts_it_again_on_its_own_servers(servers, shell):
    command = shlex.join(servers.argv())
    script = f"""
    set -a; eval "$({command} status -o env)"; set +a
    {command} stop && {command} start --detach {" ".join(SERVERS_ONLY)} && {command} status -o json
    """
    done = subprocess.run(
        [shell, "-ec", script],
        cwd=servers.root,
        env=servers.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Using" not in done.stdout
    assert servers.state()["ports"]["db"]
    assert servers.state()["ports"]["nats"]


def test_a_start_says_which_urls_of_the_shell_it_does_not_read_and_which_server_it_uses(project_folder):
    started = project_folder.run(
        "start", "--detach", *SERVERS_ONLY,
        DATABASE_URL="postgresql://app:hidden@127.0.0.1:1/d", HEADWATER_BROKER_URL="nats://u:hidden@127.0.0.1:1",
    )  # fmt: skip

    assert started.returncode == 0, started.stderr
    assert (
        "DATABASE_URL in the environment is not read. To use that server, set HEADWATER_DB_URL"
        in started.stderr
    )
    line = "Using the NATS server at 127.0.0.1:1, named by HEADWATER_BROKER_URL in the environment"
    assert line in started.stdout
    assert "hidden" not in started.stderr
    assert [child["name"] for child in project_folder.state()["children"]] == ["postgres", "migrate"]


def test_tls_without_files_is_spoken_with_a_self_signed_certificate_of_the_data_folder(project_folder):
    (project_folder.root / "supabase").mkdir()
    (project_folder.root / "supabase" / "config.toml").write_text("[api.tls]\nenabled = true\n")
    certificate = project_folder.data / "tls" / "certificate.pem"

    started = project_folder.run("start", "--detach", "--edge", "gateway", "--port", "0")

    assert started.returncode == 0, started.stderr
    assert f"self-signed certificate, which clients have to trust: {certificate}" in started.stdout
    url = json.loads(project_folder.run("status", "-o", "json").stdout)["API_URL"]
    assert url.startswith("https://127.0.0.1:")
    context = ssl.create_default_context(cafile=str(certificate))
    with urllib.request.urlopen(f"{url}/health/live", timeout=60, context=context) as answer:
        assert answer.status == 200
    listed = project_folder.run(
        "functions", "list"
    )  # a command's own request passes the certificate; no pool runs here
    assert "certificate" not in listed.stderr.lower()
    before = certificate.read_bytes()
    project_folder.run("stop")
    project_folder.run("start", "--detach", "--edge", "gateway", "--port", "0")
    assert certificate.read_bytes() == before


def test_several_platforms_run_side_by_side(servers, project_folder):
    other = project_folder.root / "other"
    started = project_folder.run("start", "--detach", *SERVERS_ONLY, "--data", other)
    stopped = project_folder.run("stop", "--data", other)

    assert started.returncode == 0, started.stderr
    assert stopped.returncode == 0
    assert project_folder.run("status").returncode == 0


def test_a_locked_data_folder_is_refused_in_one_sentence(servers):
    again = servers.run("start", *SERVERS_ONLY)

    assert again.returncode == 2
    assert again.stdout == ""
    assert len(sentences(again.stderr)) == 1
    assert "is locked" in again.stderr
    assert "headwater stop" in again.stderr


@pytest.mark.parametrize("detach", [(), ("--detach",)])
def test_a_port_in_use_is_refused_in_one_sentence(project_folder, detach):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = project_folder.run("start", *SERVERS_ONLY, *detach, "--db-port", port)

    assert refused.returncode == 2
    assert len(sentences(refused.stderr)) == 1
    assert f"Port {port} for Postgres is in use" in refused.stderr
    assert "--db-port" in refused.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[api\nport = 1", "is not valid TOML"),
        ("[api]\nmax_rows = 'many'", "api.max_rows"),
        ("[api]\ntx_end = 'never'", "api.tx_end is 'never' but must be one of"),
        ("[db.settings]\n'a b' = '1'", "no name of a server setting"),
        ("[net]\nallow = ['a b']", "net.allow has 'a b'"),
    ],
)
def test_a_broken_config_is_refused_in_one_sentence(project_folder, content, told):
    (project_folder.root / "supabase").mkdir()
    (project_folder.root / "supabase" / "config.toml").write_text(content)
    refused = project_folder.run("start", *SERVERS_ONLY)

    assert refused.returncode == 2
    assert len(sentences(refused.stderr)) == 1
    assert told in refused.stderr


def test_development_secrets_are_refused_on_a_host_that_others_reach(project_folder):
    refused = project_folder.run("start", "--host", "0.0.0.0")

    assert refused.returncode == 2
    assert len(sentences(refused.stderr)) == 1
    assert "headwater keys" in refused.stderr
    assert not project_folder.data.exists()


def test_own_keys_in_an_env_file_are_taken(project_folder):
    (project_folder.root / ".env").write_text(project_folder.run("keys").stdout)
    started = project_folder.run("start", "--detach", "--host", "0.0.0.0", *SERVERS_ONLY)

    assert started.returncode == 0, started.stderr
    assert "super-secret-jwt-token" not in project_folder.run("status").stdout


def test_own_secrets_are_not_shown_by_a_start(project_folder):
    secret = "a-secret-that-nobody-else-may-know-0123456789"
    started = project_folder.run("start", "--detach", *SERVERS_ONLY, HEADWATER_AUTH_JWT_SECRET=secret)

    assert started.returncode == 0, started.stderr
    assert secret not in started.stdout
    assert secret in project_folder.run("status").stdout
    assert not any(secret in path.read_text() for path in (project_folder.data / "logs").iterdir())


@pytest.mark.parametrize("words", [("--edge", "nope"), ("--pool", "nope")])
def test_an_unknown_part_is_refused_with_the_known_ones(project_folder, words):
    refused = project_folder.run("start", *words)

    assert refused.returncode == 2
    assert len(sentences(refused.stderr)) == 1
    assert "'nope'" in refused.stderr


def test_a_missing_config_and_project_are_refused(project_folder):
    assert project_folder.run("start", "--config", "none.toml").returncode == 2
    assert project_folder.run("start", "--project", "none").returncode == 2


def test_unknown_keys_are_told_and_not_fatal(project_folder):
    (project_folder.root / "supabase").mkdir()
    (project_folder.root / "supabase" / "config.toml").write_text("[api]\nnew_key = 1")
    started = project_folder.run("start", "--detach", *SERVERS_ONLY)

    assert started.returncode == 0
    assert "unknown key api.new_key" in started.stderr


@pytest.mark.parametrize("name", ["postgres", "nats"])
def test_a_killed_server_is_started_again(servers, name):
    before = servers.child(name)
    os.kill(before["pid"], signal.SIGKILL)
    wait_until(lambda: servers.child(name)["restarts"] >= 1 and servers.child(name)["status"] == "running")

    assert servers.child(name)["pid"] != before["pid"]
    assert f"{name} ended with signal SIGKILL" in servers.run("logs", "--service", "supervisor").stdout


def test_a_killed_supervisor_takes_its_children_along_and_the_next_start_works(servers):
    os.kill(servers.state()["pid"], signal.SIGKILL)
    again = servers.run("start", "--detach", *SERVERS_ONLY)

    assert again.returncode == 0, again.stderr
    assert len(servers.processes()) == len(set(servers.processes()))
    assert servers.run("stop").returncode == 0
    wait_until(lambda: servers.processes() == [])


def test_a_database_server_that_was_left_over_is_stopped_first(project_folder):
    from services.supervisor.data_folder.folder import DataFolder
    from services.supervisor.postgres.server import open_cluster

    project_folder.run("start", "--detach", *SERVERS_ONLY)
    project_folder.run("stop")
    cluster = open_cluster(DataFolder(project_folder.data), _Silent())
    stray = subprocess.Popen(
        [cluster.programs / "postgres", "-D", cluster.data],
        cwd="/",
        stderr=subprocess.PIPE,
        text=True,
        **(cluster.user.run_as() if cluster.user else {}),
    )
    for line in stray.stderr:
        if "ready to accept connections" in line:
            break
    started = project_folder.run("start", "--detach", *SERVERS_ONLY)
    stray.communicate(timeout=60)

    assert started.returncode == 0, started.stderr
    assert re.search(r"Stopping postgres \(process \d+\), left over", started.stdout)


def test_ports_of_options_hold_for_the_next_start_and_others_replace_them(project_folder):
    servers = ("--edge", "none", "--pool", "none")
    project_folder.run("start", "--detach", *servers, "--port", "0")
    stored = json.loads((project_folder.data / "ports.json").read_text())
    project_folder.run("stop")
    again = project_folder.run("start", "--detach", *servers)
    kept = json.loads((project_folder.data / "ports.json").read_text())
    project_folder.run("stop")
    other = project_folder.run("start", "--detach", *servers, "--port", "0", "--nats-port", "0")
    replaced = json.loads((project_folder.data / "ports.json").read_text())

    assert (again.returncode, other.returncode) == (0, 0), again.stderr + other.stderr
    assert "Ports as at the last start: HEADWATER_API_PORT=0." in again.stdout
    assert "as at the last start" not in other.stdout
    assert stored["HEADWATER_API_PORT"] == kept["HEADWATER_API_PORT"] == 0
    assert kept["db"] != 54322  # the usual one, where no port of the API is named
    assert {name for name in replaced if name.startswith("HEADWATER_")} == {
        "HEADWATER_API_PORT",
        "HEADWATER_BROKER_PORT",
    }


def test_a_lost_password_file_is_replaced(servers):
    servers.run("stop")
    (servers.data / "passwords.json").unlink()
    started = servers.run("start", "--detach", *SERVERS_ONLY)

    assert started.returncode == 0, started.stderr
    assert "setting a new one" in started.stderr


@as_root
def test_a_data_folder_private_to_root_works_and_keeps_its_database(project_folder):
    project_folder.root.chmod(0o700)
    started = project_folder.run("start", "--detach", *SERVERS_ONLY)
    home = (project_folder.data / "cluster").read_text().strip()
    project_folder.run("stop")
    again = project_folder.run("start", "--detach", *SERVERS_ONLY)

    assert started.returncode == 0, started.stderr
    assert again.returncode == 0, again.stderr
    assert "Making a new database" not in again.stdout
    assert (project_folder.data / "cluster").read_text().strip() == home
    assert not (project_folder.data / "postgres").exists()


def test_the_data_folder_keeps_its_secrets_to_its_owner(servers):
    for name in ("state.json", "passwords.json", "nats/nats.conf"):
        assert (servers.data / name).stat().st_mode & 0o077 == 0
    assert (servers.data / "logs").stat().st_mode & 0o077 == 0


class _Silent:
    def info(self, line):
        pass

    def warn(self, line):
        pass
