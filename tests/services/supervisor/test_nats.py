import pytest

from services.supervisor.nats import is_answering, nats_config, nats_environment, write_nats_config


def test_the_server_listens_on_the_loopback_address_with_a_store_in_the_data_folder(folder):
    config = nats_config(4222, folder.nats / "store", "accounts: {}")

    assert 'host: "127.0.0.1"' in config
    assert "port: 4222" in config
    assert f'store_dir: "{folder.nats}/store"' in config
    assert "accounts: {}" in config
    assert "http" not in config


def test_the_configuration_is_private(folder):
    path = write_nats_config(folder, 4222, "")

    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_silent_port_does_not_answer():
    assert not await is_answering(1)


@pytest.mark.parametrize(("cores", "threads"), [(1, "1"), (2, "1"), (4, "1"), (8, "2"), (32, "8")])
def test_the_server_leaves_most_cores_to_the_others(cores, threads):
    assert nats_environment(cores) == {"GOMAXPROCS": threads}
