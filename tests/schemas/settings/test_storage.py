"""The settings of storage: the official names of the environment, the tables of buckets, and what cannot work."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.keys.secret import Secret
from schemas.settings.environment import is_setting
from schemas.settings.reading import load_settings
from schemas.settings.storage import Bucket, Storage
from schemas.settings.storage_names import STORAGE_NAMES
from schemas.settings.tree import Settings, SettingsError
from tests.schemas.settings.test_tree import document, file_with, nested, refused, value_of, values

MIB = 1024 * 1024

ROWS = [
    ("UPLOAD_FILE_SIZE_LIMIT_STANDARD", "1000", {"file_size_limit": 1000}),
    ("UPLOAD_FILE_SIZE_LIMIT", "524288000", {"file_size_limit": 500 * MIB, "upload_file_size_limit": 500 * MIB}),
    ("FILE_SIZE_LIMIT", "52428800", {"file_size_limit": 50 * MIB, "upload_file_size_limit": 50 * MIB}),
    ("UPLOAD_SIGNED_URL_EXPIRATION_TIME", "60", {"upload_signed_url_expiration_time": 60}),
    ("STORAGE_BACKEND", "file", {"backend": "file"}),
    ("STORAGE_FILE_BACKEND_PATH", "/var/lib/storage", {"path": "/var/lib/storage"}),
    ("FILE_STORAGE_BACKEND_PATH", "/var/lib/storage", {"path": "/var/lib/storage"}),
    ("STORAGE_S3_BUCKET", "files", {"s3.bucket": "files"}),
    ("STORAGE_S3_ENDPOINT", "http://minio:9000", {"s3.endpoint": "http://minio:9000"}),
    ("STORAGE_S3_REGION", "eu-north-1", {"s3.region": "eu-north-1"}),
    ("STORAGE_S3_FORCE_PATH_STYLE", "true", {"s3.force_path_style": True}),
    ("GLOBAL_S3_BUCKET", "files", {"s3.bucket": "files"}),
    ("GLOBAL_S3_ENDPOINT", "http://minio:9000", {"s3.endpoint": "http://minio:9000"}),
    ("GLOBAL_S3_FORCE_PATH_STYLE", "true", {"s3.force_path_style": True}),
    ("AWS_ACCESS_KEY_ID", "id", {"s3.access_key_id": "id"}),
    ("AWS_SECRET_ACCESS_KEY", "key", {"s3.secret_access_key": "key"}),
    ("S3_PROTOCOL_ENABLED", "false", {"s3_protocol.enabled": False}),
    ("S3_PROTOCOL_ACCESS_KEY_ID", "id", {"s3_protocol.access_key_id": "id"}),
    ("S3_PROTOCOL_ACCESS_KEY_SECRET", "key", {"s3_protocol.secret_access_key": "key"}),
    ("TUS_URL_EXPIRY_MS", "3600000", {"tus_expiry": 3600}),
    ("WEBHOOK_URL", "http://10.0.0.1:9/x", {"webhook_url": "http://10.0.0.1:9/x"}),
    ("CDN_PURGE_ENDPOINT_URL", "http://10.0.0.1:9/x", {"cdn_purge_endpoint_url": "http://10.0.0.1:9/x"}),
    ("CDN_PURGE_ENDPOINT_KEY", "secret", {"cdn_purge_endpoint_key": "secret"}),
    ("WEBHOOK_API_KEY", "key", {"webhook_api_key": "key"}),
    ("STORAGE_PUBLIC_URL", "https://files.example.org", {"public_url": "https://files.example.org"}),
    ("IMAGE_TRANSFORMATION_ENABLED", "false", {"image_transformation.enabled": False}),
    ("ENABLE_IMAGE_TRANSFORMATION", "false", {"image_transformation.enabled": False}),
    ("IMAGE_TRANSFORMATION_LIMIT_MIN_SIZE", "2", {"image_transformation.limit_min_size": 2}),
    ("IMAGE_TRANSFORMATION_LIMIT_MAX_SIZE", "2500", {"image_transformation.limit_max_size": 2500}),
]  # fmt: skip
"""Every name of the reference's section 14 (and the older names of the same), a value, and what it sets."""

OTHER_HALF = {
    "AWS_ACCESS_KEY_ID": "AWS_SECRET_ACCESS_KEY",
    "S3_PROTOCOL_ACCESS_KEY_ID": "S3_PROTOCOL_ACCESS_KEY_SECRET",
}
HALVES = OTHER_HALF | {second: first for first, second in OTHER_HALF.items()}


def environment(name: str, text: str) -> dict[str, str]:
    """Give a variable with the one it cannot do without."""
    return {name: text} | ({HALVES[name]: "x"} if name in HALVES else {})


def storage_of(config: bytes = b"", environment: dict[str, str] | None = None) -> Storage:
    """Read [storage] where nothing is to be told."""
    settings, warnings = load_settings(config, environment or {})
    assert warnings == []
    return settings.storage


@pytest.mark.parametrize(("name", "text", "wanted"), ROWS)
def test_a_name_of_the_official_server_sets_its_keys(name: str, text: str, wanted: dict[str, object]) -> None:
    settings, warnings = load_settings(b"", environment(name, text))

    assert {key: value_of(settings, f"storage.{key}") for key in wanted} == wanted
    assert warnings == []
    assert is_setting(name)


def test_the_table_above_has_every_official_name() -> None:
    assert {name for name, *_ in ROWS} == STORAGE_NAMES.keys()


@pytest.mark.parametrize("name", STORAGE_NAMES)
def test_an_empty_official_name_is_as_if_it_were_not_set(name: str) -> None:
    assert load_settings(b"", {name: " "}) == load_settings(b"", {})


def test_ours_win_over_the_official_names_and_both_over_the_file() -> None:
    config = file_with("storage.file_size_limit", "1MB")
    both = {"FILE_SIZE_LIMIT": "2000"}

    assert storage_of(config).file_size_limit == MIB
    assert storage_of(config, both).file_size_limit == 2000
    assert storage_of(config, {**both, "HEADWATER_STORAGE_FILE_SIZE_LIMIT": "3kb"}).file_size_limit == 3072


@pytest.mark.parametrize("order", [1, -1])
def test_the_limit_of_standard_uploads_wins_over_the_limits_of_all(order: int) -> None:
    given = [("UPLOAD_FILE_SIZE_LIMIT_STANDARD", "1000"), ("UPLOAD_FILE_SIZE_LIMIT", "9000")]

    storage = storage_of(b"", dict(given[::order]))

    assert (storage.file_size_limit, storage.upload_file_size_limit) == (1000, 9000)


@pytest.mark.parametrize(
    ("config", "largest", "standard"),
    [
        (b"", 5 * 1024 * MIB, 50 * MIB),
        (b"[storage]\nfile_size_limit = '6GiB'", 6 * 1024 * MIB, 6 * 1024 * MIB),
        (b"[storage]\nupload_file_size_limit = '1MiB'", MIB, MIB),
        (b"[storage]\nfile_size_limit = 1000", 5 * 1024 * MIB, 1000),
    ],
)
def test_no_object_is_longer_than_the_limit_of_all(config: bytes, largest: int, standard: int) -> None:
    storage = storage_of(config)

    assert (storage.largest, storage.largest_standard) == (largest, standard)


SELF_HOSTED = {
    "ANON_KEY": "x",
    "STORAGE_BACKEND": "s3",
    "GLOBAL_S3_BUCKET": "files",
    "GLOBAL_S3_ENDPOINT": "http://minio:9000",
    "GLOBAL_S3_PROTOCOL": "http",
    "GLOBAL_S3_FORCE_PATH_STYLE": "true",
    "AWS_ACCESS_KEY_ID": "files",
    "AWS_SECRET_ACCESS_KEY": "secret1234",
    "AWS_DEFAULT_REGION": "stub",
    "FILE_SIZE_LIMIT": "52428800",
    "FILE_STORAGE_BACKEND_PATH": "/var/lib/storage",
    "TENANT_ID": "stub",
    "REGION": "stub",
    "ENABLE_IMAGE_TRANSFORMATION": "true",
    "IMGPROXY_URL": "http://imgproxy:5001",
}
"""The environment of the storage container of a shop that hosts itself, with its objects in an S3 of its own."""


def test_the_environment_of_a_self_hoster_is_read_without_a_word() -> None:
    storage = storage_of(b"", SELF_HOSTED)

    assert (storage.backend, storage.s3.bucket, storage.s3.endpoint) == ("s3", "files", "http://minio:9000")
    assert storage.s3.secret_access_key == Secret("secret1234")
    assert storage.s3.force_path_style
    assert storage.largest == 50 * MIB


OFFICIAL_FILE = b"""
[storage]
enabled = true
file_size_limit = "50MiB"
[storage.image_transformation]
enabled = true
[storage.s3_protocol]
enabled = true
[storage.buckets.images]
public = false
file_size_limit = "50MiB"
allowed_mime_types = ["image/png", "image/jpeg"]
objects_path = "./images"
[storage.buckets.papers]
[storage.analytics]
enabled = false
max_namespaces = 5
[storage.analytics.buckets.my-warehouse]
[storage.vector]
enabled = false
[storage.vector.buckets.documents-openai]
"""


def test_a_file_of_the_official_tool_is_read_without_a_word() -> None:
    storage = storage_of(OFFICIAL_FILE)

    assert list(storage.buckets) == ["images", "papers"]
    assert storage.buckets["images"].allowed_mime_types == ["image/png", "image/jpeg"]
    assert (storage.buckets["images"].file_size_limit, storage.buckets["images"].objects_path) == (
        50 * MIB,
        "./images",
    )
    assert storage.buckets["papers"] == Bucket()


def test_an_unknown_key_of_a_bucket_is_told_with_the_one_that_was_meant() -> None:
    _, warnings = load_settings(b"[storage.buckets.images]\npublik = true", {})

    assert warnings == [
        "unknown key storage.buckets.images.publik in config.toml is ignored; "
        "did you mean storage.buckets.images.public?"
    ]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("[storage]\nfile_size_limit = '50 apples'", "storage.file_size_limit must be a size such as 50MiB, or a whole number of bytes above 0"),
        ("[storage]\nfile_size_limit = 0", "storage.file_size_limit must be a size such as 50MiB, or a whole number of bytes above 0"),
        ("[storage]\nbuckets = 5", "storage.buckets must be a table of buckets"),
        ("[storage.buckets]\nimages = 5", "storage.buckets.images must be a table"),
        ("[storage.buckets.images]\npublic = 'maybe'", "storage.buckets.images.public must be true or false"),
        ("[storage]\nbackend = 'floppy'", "storage.backend is 'floppy' but must be one of file, s3, gcs, azure"),
        ("[storage]\nbackend = 's3'", "storage.s3.bucket must be set where storage.backend is s3"),
        ("[storage]\nbackend = 'gcs'", "storage.gcs.bucket must be set where storage.backend is gcs"),
        ("[storage]\nbackend = 'azure'", "storage.azure.container must be set where storage.backend is azure"),
        ("[storage]\nbackend = 'azure'\nazure.container = 'x'", "storage.azure.account_name must be set where storage.backend is azure"),
        ("[storage]\nbackend = 's3'\ns3 = {bucket = 'x', access_key_id = 'x'}", "storage.s3.access_key_id and storage.s3.secret_access_key go together: set both or none"),
        ("[storage.s3_protocol]\nsecret_access_key = 'x'", "storage.s3_protocol.access_key_id and storage.s3_protocol.secret_access_key go together: set both or none"),
        ("[storage]\npublic_url = 'files.example.org'", "storage.public_url must be a URL such as https://storage.example.org"),
        ("[storage]\npublic_url = 'https://['", "storage.public_url must be a URL such as https://storage.example.org"),
        ("[storage]\ns3.endpoint = 'ftp://x'", "storage.s3.endpoint must be a URL such as https://storage.example.org"),
        ("[storage]\ns3 = {endpoint = 'http://x', allow_http = false}", "storage.s3.endpoint begins with http://, which storage.s3.allow_http forbids"),
        ("[storage]\ncdn_purge_endpoint_url = 'secret.example.org'", "storage.cdn_purge_endpoint_url must be a URL such as https://example.org/cdn"),
        ("[storage]\nwebhook_url = 'secret.example.org'", "storage.webhook_url must be a URL such as https://example.org/events"),
        ("[storage]\nwebhook_url = 'https://u:p@x/'\nwebhook_api_key = 'k'", "storage.webhook_url names a user, which cannot stand beside storage.webhook_api_key"),
        ("[storage]\nwebhook_api_key = 'k\\n'".replace("'k", '"k').replace("n'", 'n"'), "storage.webhook_api_key must have printable ASCII signs only: it is sent in a header"),
        ("[storage]\nwebhook_give_up = 0", "storage.webhook_give_up must be above 0 and not above storage.events_max_age"),
        ("[storage]\nevents_max_age = '1h'", "storage.webhook_give_up must be above 0 and not above storage.events_max_age"),
        ("[storage.image_transformation]\nlimit_min_size = 5\nlimit_max_size = 4", "storage.image_transformation.limit_min_size must not be above storage.image_transformation.limit_max_size"),
        ("[storage.buckets.' images']", "storage.buckets has ' images'; a bucket's name has 1 to 100 signs and no space at its ends"),
        (f"[storage.buckets.{'x' * 101}]", f"storage.buckets has '{'x' * 101}'; a bucket's name has 1 to 100 signs and no space at its ends"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_work_is_refused(config: str, told: str) -> None:
    assert refused(config.encode()) == f"config.toml: {told}"


def test_a_refusal_names_the_variable_that_the_user_wrote() -> None:
    assert refused(b"", {"STORAGE_BACKEND": "s3"}) == (
        "STORAGE_S3_BUCKET must be set where STORAGE_BACKEND is s3"
    )
    assert refused(b"", {"STORAGE_BACKEND": "floppy"}).startswith("STORAGE_BACKEND is 'floppy'")
    assert refused(b"", {"FILE_SIZE_LIMIT": "lots"}).startswith("FILE_SIZE_LIMIT must be a size")


keys = st.sampled_from(
    sorted(
        {f"storage.{key}" for _, _, wanted in ROWS for key in wanted}
        | {"storage.buckets", "storage.buckets.x", "storage.buckets.x.file_size_limit", "storage.s3"}
    )
)
words = st.text(max_size=20) | st.sampled_from([text for _, text, _ in ROWS])


@given(
    st.lists(st.tuples(keys, values), max_size=6).map(nested),
    st.dictionaries(st.sampled_from(sorted(STORAGE_NAMES)), words, max_size=4),
)
def test_any_tree_and_environment_of_storage_give_settings_or_a_refusal(
    tree: dict[str, object], environment: dict[str, str]
) -> None:
    with contextlib.suppress(SettingsError):
        settings, _ = load_settings(document(tree), environment)

        assert isinstance(settings, Settings)
        assert 1 <= settings.storage.largest_standard <= settings.storage.largest
