"""[storage]: the object store, limits of objects, and the interfaces to them (docs/reference/storage.md, section 14).

The keys of the official `config.toml` are read unchanged; those about the object store are ours, and the environment names that
self-hosters use for them are in `storage_names.py`.
"""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Amount, Count, Duration, Rate, Seconds, Size

MIB = 1024 * 1024
_LARGEST = Size(5 * 1024 * MIB)

BACKENDS = ("file", "s3", "gcs", "azure")


class Bucket(Struct, frozen=True):
    """A bucket that is created, and filled from a folder, when a project starts."""

    public: bool = False
    """Its objects are read without a token."""
    file_size_limit: Size | None = None
    """Longest object of this bucket."""
    allowed_mime_types: list[str] = field(default_factory=list)
    """Accepted media types, such as `image/png` or `image/*`; empty accepts all."""
    objects_path: str = ""
    """Folder of files that are uploaded to it, relative to the folder of config.toml."""
    quota: Size | None = None
    """Total bytes of its objects. Unset: only the quota of all buckets applies."""


class ImageTransformation(Struct, frozen=True):
    """[storage.image_transformation]: images in other sizes and formats, rendered on request."""

    enabled: bool = True
    limit_min_size: Count = 1
    """Least requested width and height; less is raised to it."""
    limit_max_size: Count = 2000
    """Greatest requested width and height; more is cut to it."""
    cache_max_size: Size = Size(1024 * MIB)
    """Bytes of all cached results; the oldest are removed first. Checked about once an hour."""
    cache_max_age: Duration = Duration(30 * 86400)
    """How long a result is cached; it is rendered again at the next request."""
    max_source_size: Size = Size(25 * MIB)
    """Longest file that is rendered."""
    max_source_pixels: Count = 50_000_000
    """Most pixels of an image that is rendered; of an animation, of all its frames that are used."""
    max_frames: Count = 60
    """Frames of an animation that are used; further ones are dropped."""
    timeout: Seconds = 15.0
    """Seconds one render may take."""
    processes: Amount = 0
    """Images rendered at the same time, each in a process of its own; 0 is one for each core."""
    process_memory: Size = Size(1024 * MIB)
    """Memory of each of these processes; images that need more are rejected."""
    renditions_per_client: Rate = 2.0
    """New images a second that one client may request: a user, or an address without a token; cached ones are not counted. Beyond: 429. Each
    storage worker counts separately. 0: unlimited.
    """
    renditions_per_client_burst: Count = 120
    """New images that a client may request at once before that rate applies, such as those of a page with many."""
    process_idle_timeout: Seconds = 60.0
    """Seconds without work after which a process is stopped; the next image starts one again."""


class S3Protocol(Struct, frozen=True):
    """[storage.s3_protocol]: the S3-compatible endpoint."""

    enabled: bool = True
    access_key_id: Secret | None = None
    """Key pair that acts as the service role. Unset: only session tokens of users are accepted."""
    secret_access_key: Secret | None = None
    region: str = "us-east-1"
    """Region that clients sign for."""
    upload_expiry: Duration = Duration(7 * 86400)
    """How long a multipart upload is kept after its last part; applies to uploads that begin later."""


class S3(Struct, frozen=True):
    """[storage.s3]: the external S3 service of `backend = "s3"`."""

    bucket: str = ""
    prefix: str = ""
    """Folder inside the bucket, if it is shared with other uses."""
    endpoint: str = ""
    """URL of a service other than Amazon's."""
    region: str = "us-east-1"
    force_path_style: bool = False
    """Put the bucket's name in the path instead of the host."""
    allow_http: bool = True
    """Accept an endpoint whose URL begins with http://. Off: only https."""
    access_key_id: Secret | None = None
    """Unset: the machine's own credentials (the role of the instance or the container, a web identity)."""
    secret_access_key: Secret | None = None


class Gcs(Struct, frozen=True):
    """[storage.gcs]: the Google Cloud Storage of `backend = "gcs"`."""

    bucket: str = ""
    prefix: str = ""
    """Folder inside the bucket."""
    service_account_path: str = ""
    """File of the service account. Unset, without a key: the machine's own credentials."""
    service_account_key: Secret | None = None
    """The service account itself, as JSON."""


class Azure(Struct, frozen=True):
    """[storage.azure]: the Azure Blob Storage of `backend = "azure"`."""

    container: str = ""
    prefix: str = ""
    """Folder inside the container."""
    account_name: str = ""
    account_key: Secret | None = None
    """Unset: the machine's own credentials."""
    endpoint: str = ""
    """URL of a service other than Azure's public one."""
    allow_http: bool = True
    """Accept an endpoint whose URL begins with http://. Off: only https."""


class Storage(Struct, frozen=True):
    """[storage]: objects in buckets (docs/reference/storage.md). Sizes are `50MiB`, `50MB` (the same) or bytes."""

    enabled: bool = True
    file_size_limit: Size = Size(50 * MIB)
    """Longest object of a standard upload into a bucket without a limit of its own."""
    upload_file_size_limit: Size | None = None
    """Longest object of all uploads: resumable, by S3, or as the limit of a bucket. Unset: 5GiB, or `file_size_limit` if that is more."""
    upload_signed_url_expiration_time: Duration = Duration(7200)
    """How long a signed upload URL is valid that names no time."""
    quota: Size | None = None
    """Total bytes of the objects of all buckets. Unset: unlimited."""
    unicode_keys: bool = True
    """Object names may contain letters of every script. Off: only the characters that the official server accepts."""
    public_url: str = ""
    """URL under which clients reach `/storage/v1`, without that path. Unset: from their requests."""
    tus_expiry: Duration = Duration(86400)
    """How long an unfinished resumable upload is kept."""
    deleted_grace: Duration = Duration(60)
    """How long the bytes of deleted or replaced objects are kept, for downloads that have just begun."""
    public_lookup_max_age: Duration = Duration(1)
    """How long an edge answers downloads of an object of a public bucket without asking a worker again. Changes through the API apply
    at once; changes by plain SQL after this time at most. 0: every download asks.
    """
    webhook_url: Secret | None = None
    """URL to which every event of an object or a bucket is posted; private addresses are allowed. Unset: events are on NATS only."""
    webhook_api_key: Secret | None = None
    """Sent with each post, as `Authorization: Bearer`."""
    webhook_give_up: Duration = Duration(86400)
    """How long the post of an event is retried; then the event is dropped."""
    cdn_purge_endpoint_url: Secret | None = None
    """Service that purges a cache in front of the platform: what `DELETE /storage/v1/cdn/...` purges is posted to `<this URL>/purge`,
    in the form of the official server; private addresses are allowed. Unset: renditions alone are purged.
    """
    cdn_purge_endpoint_key: Secret | None = None
    """Sent with each post, as `Authorization: Bearer`."""
    events_max_age: Duration = Duration(7 * 86400)
    """How long events are kept on NATS for consumers. 0: unlimited."""
    events_max_size: Size = Size(256 * MIB)
    """Bytes of all events on NATS; the oldest are dropped first."""
    staging_expiry: Duration = Duration(3600)
    """How long the bytes of an interrupted upload are kept after the last of them. Resumable uploads: `tus_expiry`; multipart uploads:
    `s3_protocol.upload_expiry`.
    """
    staging_limit: Size = Size(20 * 1024 * MIB)
    """Disk space in bytes of all uploads in progress and interrupted ones together; beyond: 507. 0: unlimited. Only with the backend `file`."""
    orphan_expiry: Duration = Duration(6 * 3600)
    """Age at which bytes without an object are removed, as a crashed process or an interrupted restore leaves them. They must have been found
    twice, about an hour apart.
    """
    backend: str = "file"
    """Object store: file (this machine's disk), s3, gcs or azure."""
    path: str = ""
    """Folder of the backend `file`, relative to the data folder. Unset: `storage` in it."""
    image_transformation: ImageTransformation = field(default_factory=ImageTransformation)
    s3_protocol: S3Protocol = field(default_factory=S3Protocol)
    s3: S3 = field(default_factory=S3)
    gcs: Gcs = field(default_factory=Gcs)
    azure: Azure = field(default_factory=Azure)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    """Buckets that are created at the start: `[storage.buckets.<name>]` with `public`, `file_size_limit`, `allowed_mime_types`, `objects_path`."""

    @property
    def largest(self) -> int:
        """Longest object by any kind of upload."""
        return self.upload_file_size_limit or max(_LARGEST, self.file_size_limit)

    @property
    def largest_standard(self) -> int:
        """Longest standard upload into a bucket without a limit of its own."""
        return min(self.file_size_limit, self.largest)
