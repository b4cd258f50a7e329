"""Files that go into a bucket: which, under which names, of which types."""

import hashlib
import unicodedata

import pytest

from services.supervisor.project.bucket_files import LocalFile, files_of


def test_files_below_a_folder_have_its_rest_of_the_path_as_their_name(tmp_path):
    for name in ("b.txt", "a/b/c.png", "a/.emptyFolderPlaceholder", ".DS_Store"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")

    found = files_of(tmp_path)

    assert [file.key for file in found] == ["a/.emptyFolderPlaceholder", "a/b/c.png", "b.txt"]
    assert {file.size for file in found} == {5}


def test_one_file_has_its_own_name(tmp_path):
    (tmp_path / "one.txt").write_bytes(b"x")

    assert [file.key for file in files_of(tmp_path / "one.txt")] == ["one.txt"]


def test_links_are_not_followed(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"x")
    (top / "link").symlink_to(tmp_path / "secret")
    (top / "folder").symlink_to(tmp_path / "outside")

    assert files_of(top) == []


def test_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        files_of(tmp_path / "nowhere")


def test_accents_are_composed(tmp_path):
    (tmp_path / unicodedata.normalize("NFD", "é.txt")).write_bytes(b"x")

    assert [file.key for file in files_of(tmp_path)] == ["é.txt"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.PNG", "image/png"),
        ("a.webp", "image/webp"),
        ("a.html", "text/html"),
        ("a.js", "text/javascript"),
        ("a.tar.gz", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ],
)
def test_type_is_told_by_the_name(tmp_path, name, kind):
    assert LocalFile(tmp_path / name, name, 0).content_type == kind


def test_bytes_are_told_by_their_md5(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)

    assert LocalFile(tmp_path / "a", "a", 0).md5() == hashlib.md5(b"x" * 3_000_000).hexdigest()
