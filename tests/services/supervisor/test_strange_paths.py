"""Data folders with strange paths: every configuration file that names one is read by the program that it is for."""

import asyncio
import os
import subprocess

import pytest

from services.supervisor import binaries
from services.supervisor.data_folder.folder import create_data_folder
from services.supervisor.nats import is_answering, nats_environment, write_nats_config
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.database_home import outside_home, pointed_home
from services.supervisor.postgres.server import configuration
from tests.fast import skip_in_fast_run
from tests.ports import free_port

STRANGE = "José Ærøs 'ein' \"zwei\" {drei} [4] #5 $HOME %n 日本\\x41"
PATHS = ["josé", "a b", "it's", 'say "so"', "back\\slash", "tab\tbed", STRANGE, "x" * 200]


@pytest.fixture(params=[*PATHS, "link"], ids=[*(f"path {number}" for number in range(len(PATHS))), "symlink"])
def folder(request, open_tmp):
    if request.param == "link":
        (open_tmp / STRANGE).mkdir()
        (open_tmp / "link").symlink_to(open_tmp / STRANGE)
    return create_data_folder(open_tmp / request.param / "data")


async def test_nats_stores_where_its_configuration_says(folder):
    skip_in_fast_run("nats-server")
    port = free_port()
    config = write_nats_config(folder, port, "")
    process = await asyncio.create_subprocess_exec(
        str(binaries.find_nats()), "--config", str(config),
        env={**os.environ, **nats_environment(2)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(30):
            while not await is_answering(port):
                assert process.returncode is None, (await process.stdout.read()).decode()
                await asyncio.sleep(0.02)
        assert (folder.nats / "store" / "jetstream").is_dir()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def test_postgres_reads_the_path_of_its_configuration(folder):
    skip_in_fast_run("postgres")
    cluster = Cluster(folder.postgres, binaries.find_postgres(), None)
    cluster.data.mkdir(parents=True)
    (cluster.data / "postgresql.conf").write_text(configuration(cluster, 5432, {}), encoding="utf-8")

    done = subprocess.run(
        [str(cluster.programs / "postgres"), "-C", "extension_control_path", "-D", str(cluster.data)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stdout.rstrip("\n") == f"{cluster.extensions}:$system", done.stderr


def test_a_home_of_a_database_elsewhere_names_its_data_folder(folder, open_tmp):
    home = outside_home(folder, open_tmp / "shared")

    assert (home / "owner").read_bytes().decode() == f"{folder.path}\n"
    assert pointed_home(folder) == home
