"""[storage]: where objects lie, how long they may be, what is offered over them (reference page "storage", section 14).

The keys of the official `config.toml` are read unchanged; those about the place of the bytes are ours, and the names of
the environment that self-hosters use for them stand in `storage_names.py`.
"""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Amount, Count, Duration, Rate, Seconds, Size

MIB = 1024 * 1024
_LARGEST = Size(5 * 1024 * MIB)

BACKENDS = ("file", "s3", "gcs", "azure")


class Bucket(Struct, frozen=True):
    """A bucket that is made, and filled from a folder, when a project starts."""

    public: bool = False
    """Its objects are read without a token."""
    file_size_limit: Size | None = None
    """Longest object of this bucket."""
    allowed_mime_types: list[str] = field(default_factory=list)
    """Media types it takes, such as `image/png` or `image/*`; empty takes all."""
    objects_path: str = ""
    """Folder of files that are put into it, from the folder of the file."""
    quota: Size | None = None
    """Bytes that all its objects together may have. Unset: no limit but that of all buckets."""


class ImageTransformation(Struct, frozen=True):
    """[storage.image_transformation]: pictures in other sizes and formats, made when they are asked for."""

    enabled: bool = True
    limit_min_size: Count = 1
    """Least width and height that is asked for; less is raised to it."""
    limit_max_size: Count = 2000
    """Greatest width and height that is asked for; more is cut to it."""
    cache_max_size: Size = Size(1024 * MIB)
    """Bytes of all results kept; the oldest go first. Looked after about once an hour."""
    cache_max_age: Duration = Duration(30 * 86400)
    """How long a result is kept; it is made anew when it is asked for again."""
    max_source_size: Size = Size(25 * MIB)
    """Longest file that is rendered."""
    max_source_pixels: Count = 50_000_000
    """Most pixels of a picture that is rendered; of a moving one, of all its frames that are taken."""
    max_frames: Count = 60
    """Frames of a moving picture that are taken; the rest is left out."""
    timeout: Seconds = 15.0
    """Seconds one render may take."""
    processes: Amount = 0
    """Pictures rendered at the same time, each in a process of its own; 0 is one for each core."""
    process_memory: Size = Size(1024 * MIB)
    """Memory that each of these processes may take; pictures that need more are refused."""
    renditions_per_client: Rate = 2.0
    """New pictures a second that one client may have made: a user, or an address without a token; what lies in the cache is not
    counted. Beyond: 429. Each storage worker counts for itself. 0 is no limit."""
    renditions_per_client_burst: Count = 120
    """New pictures that a client may have made at once before that rate holds: those of a page with many of them."""
    process_idle_timeout: Seconds = 60.0
    """Seconds after which a process without work is ended; the next picture starts one again."""


class S3Protocol(Struct, frozen=True):
    """[storage.s3_protocol]: the S3-compatible endpoint."""

    enabled: bool = True
    access_key_id: Secret | None = None
    """Key pair that stands for the service role. Unset: only session tokens of users are taken."""
    secret_access_key: Secret | None = None
    region: str = "us-east-1"
    """Region that clients sign for."""
    upload_expiry: Duration = Duration(7 * 86400)
    """How long a multipart upload is kept to which no part comes any more; counts for uploads that begin later."""


class S3(Struct, frozen=True):
    """[storage.s3]: the outside S3 service of `backend = "s3"`."""

    bucket: str = ""
    prefix: str = ""
    """Folder inside the bucket, for one that is shared with others."""
    endpoint: str = ""
    """URL of a service other than Amazon's."""
    region: str = "us-east-1"
    force_path_style: bool = False
    """Name the bucket in the path, not in the host."""
    allow_http: bool = True
    """Speak to an endpoint whose URL begins with http://. Off: only https."""
    access_key_id: Secret | None = None
    """Unset: as the machine says (the role of the instance or the container, a web identity)."""
    secret_access_key: Secret | None = None


class Gcs(Struct, frozen=True):
    """[storage.gcs]: the Google Cloud Storage of `backend = "gcs"`."""

    bucket: str = ""
    prefix: str = ""
    """Folder inside the bucket."""
    service_account_path: str = ""
    """File of the service account. Unset, with no key: as the machine says."""
    service_account_key: Secret | None = None
    """The service account itself, as JSON."""


class Azure(Struct, frozen=True):
    """[storage.azure]: the Azure Blob Storage of `backend = "azure"`."""

    container: str = ""
    prefix: str = ""
    """Folder inside the container."""
    account_name: str = ""
    account_key: Secret | None = None
    """Unset: as the machine says."""
    endpoint: str = ""
    """URL of another service than Azure's public one."""
    allow_http: bool = True
    """Speak to an endpoint whose URL begins with http://. Off: only https."""


class Storage(Struct, frozen=True):
    """[storage]: objects in buckets (reference page "storage"). Sizes are `50MiB`, `50MB` (the same) or bytes."""

    enabled: bool = True
    file_size_limit: Size = Size(50 * MIB)
    """Longest object of a standard upload, where the bucket has no limit of its own."""
    upload_file_size_limit: Size | None = None
    """Longest object of all: resumable, by S3, or as the limit of a bucket. Unset: 5GiB, or `file_size_limit` if that is more."""
    upload_signed_url_expiration_time: Duration = Duration(7200)
    """How long a signed upload URL holds that names no time."""
    quota: Size | None = None
    """Bytes that the objects of all buckets together may have. Unset: no limit."""
    unicode_keys: bool = True
    """Names of objects may have letters of every script. Off: only the signs that the official server takes."""
    public_url: str = ""
    """URL under which clients reach `/storage/v1`, without that path. Unset: as their requests say."""
    tus_expiry: Duration = Duration(86400)
    """How long a resumable upload that is not finished is kept."""
    deleted_grace: Duration = Duration(60)
    """How long the bytes of objects that were deleted or replaced are kept, for downloads that have just begun."""
    webhook_url: Secret | None = None
    """URL to which every event of an object or a bucket is posted; private addresses too. Unset: events are on NATS only."""
    webhook_api_key: Secret | None = None
    """Sent with each post, as `Authorization: Bearer`."""
    webhook_give_up: Duration = Duration(86400)
    """How long the post of an event is tried again; then the event is dropped."""
    events_max_age: Duration = Duration(7 * 86400)
    """How long events are kept on NATS for those who follow them. 0 is no limit."""
    events_max_size: Size = Size(256 * MIB)
    """Bytes of all events kept on NATS; the oldest go first."""
    staging_expiry: Duration = Duration(3600)
    """How long bytes of an upload that broke off are kept after the last of them. Resumable uploads: `tus_expiry`; in parts:
    `s3_protocol.upload_expiry`."""
    staging_limit: Size = Size(20 * 1024 * MIB)
    """Bytes that all uploads under way may take on the disk together, with what others left that broke off; beyond: 507.
    0 is no limit. Of the backend `file`."""
    orphan_expiry: Duration = Duration(6 * 3600)
    """How old bytes are that no object has before they are removed: a process died between both, or a restore was interrupted.
    They must have been found so twice, about an hour apart."""
    backend: str = "file"
    """Where the bytes lie: file (this machine's disk), s3, gcs or azure."""
    path: str = ""
    """Folder of the backend `file`, from the data folder. Unset: `storage` in it."""
    image_transformation: ImageTransformation = field(default_factory=ImageTransformation)
    s3_protocol: S3Protocol = field(default_factory=S3Protocol)
    s3: S3 = field(default_factory=S3)
    gcs: Gcs = field(default_factory=Gcs)
    azure: Azure = field(default_factory=Azure)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    """Buckets that are made at the start: `[storage.buckets.<name>]` with `public`, `file_size_limit`, `allowed_mime_types`, `objects_path`."""

    @property
    def largest(self) -> int:
        """Give the length that no object may exceed, however it comes."""
        return self.upload_file_size_limit or max(_LARGEST, self.file_size_limit)

    @property
    def largest_standard(self) -> int:
        """Give the length of a standard upload into a bucket without a limit of its own."""
        return min(self.file_size_limit, self.largest)
