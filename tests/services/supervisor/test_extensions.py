from services.supervisor.binaries import find_postgres
from services.supervisor.extensions import KEEP_UNTRUSTED, extension_files, trusted


def test_a_control_file_becomes_trusted():
    assert trusted("default_version = '1.0'\n") == "default_version = '1.0'\ntrusted = true\n"
    assert trusted("trusted = false\nrelocatable = true\n") == "relocatable = true\ntrusted = true\n"


def test_the_servers_own_extensions_are_offered_to_all_but_those_that_read_files():
    server = find_postgres().parent / "share" / "extension"
    files = dict(extension_files(server))

    assert b"trusted = true" in files["vector.control"]
    assert b"trusted = true" in files["moddatetime.control"]
    assert "moddatetime--1.0.sql" in files
    assert not {f"{name}.control" for name in KEEP_UNTRUSTED} & files.keys()


def test_every_control_file_has_a_script():
    server = find_postgres().parent / "share" / "extension"
    names = [name for name, _ in extension_files(server)]

    assert all(
        any(script.startswith(name.removesuffix(".control") + "--") for script in names)
        for name in names
        if name.endswith(".control")
    )
