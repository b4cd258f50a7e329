"""From settings to clients of outside stores: each kind is made without a word to the network."""

from pathlib import Path
from typing import Any

import pytest
from obstore.store import AzureStore, GCSStore, S3Store

from broker.blobs.connect import connect
from schemas.keys.secret import Secret
from schemas.settings.storage import S3, Azure, Gcs, Storage


def s3(**keys: Any) -> Any:
    store = connect(Storage(backend="s3", s3=S3(bucket="files", **keys)))
    assert isinstance(store, S3Store)
    return store


def test_an_s3_of_ones_own_is_named_by_path_or_by_host() -> None:
    by_path = s3(endpoint="http://minio:9000/", force_path_style=True, prefix="a/b").config
    by_host = s3(endpoint="https://example.org").config

    assert (by_path["endpoint"], by_path["virtual_hosted_style_request"]) == ("http://minio:9000", "false")
    assert (by_host["endpoint"], by_host["virtual_hosted_style_request"]) == (
        "https://files.example.org",
        "true",
    )
    assert s3(prefix="a/b").prefix == "a/b"


def test_amazon_needs_no_endpoint_and_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    config = s3(region="eu-north-1").config

    assert config["region"] == "eu-north-1"
    assert not {"endpoint", "access_key_id", "secret_access_key"} & config.keys()


def test_keys_are_used_where_there_are_both() -> None:
    config = s3(access_key_id=Secret("id"), secret_access_key=Secret("key")).config

    assert (config["access_key_id"], config["secret_access_key"]) == ("id", "key")


def test_plain_http_is_refused_where_it_is_not_allowed() -> None:
    allowed = [s3(allow_http=is_allowed).client_options or {} for is_allowed in (True, False)]

    assert [options.get("allow_http") for options in allowed] == ["true", "false"]


def test_google_takes_a_service_account_as_a_file_or_as_text(tmp_path: Path) -> None:
    text = '{"gcs_base_url": "http://127.0.0.1:9", "disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}'
    (tmp_path / "account.json").write_text(text)

    of_text = connect(Storage(backend="gcs", gcs=Gcs(bucket="files", service_account_key=Secret(text))))
    of_file = connect(
        Storage(backend="gcs", gcs=Gcs(bucket="files", service_account_path=str(tmp_path / "account.json")))
    )

    assert isinstance(of_text, GCSStore)
    assert isinstance(of_file, GCSStore)


def test_azure_takes_an_account_and_an_address() -> None:
    settings = Azure("files", "", "me", Secret("a2V5"), "http://azurite:10000/me")
    store = connect(Storage(backend="azure", azure=settings))

    assert isinstance(store, AzureStore)
    assert (store.config["account_name"], store.config["endpoint"]) == ("me", "http://azurite:10000/me")


def test_a_local_disk_is_no_outside_store() -> None:
    with pytest.raises(ValueError, match="no outside store"):
        connect(Storage())
