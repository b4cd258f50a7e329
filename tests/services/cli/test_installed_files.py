from services.cli.installed_files import overwritten_files


def make(tmp_path, content):
    info = tmp_path / "sample_dist-1.dist-info"
    info.mkdir()
    (tmp_path / "headwater" / "schemas").mkdir(parents=True)
    (tmp_path / "headwater" / "schemas" / "a.py").write_text(content)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sample-dist\nVersion: 1\n")
    # the SHA-256 of "x = 1\n", and a file of another folder that does not count
    (info / "RECORD").write_text(
        "headwater/schemas/a.py,sha256=lYOoVhtZ8Rz5sLfYuiM4c2bxbgSrQDtf3wdbYGZpKgs,6\nother/b.py,sha256=none,1\n"
    )


def test_an_overwritten_file_is_named(tmp_path, monkeypatch):
    make(tmp_path, "x = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert overwritten_files("sample-dist") == ["headwater/schemas/a.py"]


def test_a_package_that_is_not_installed_has_no_files():
    assert overwritten_files("no-such-distribution") == []
