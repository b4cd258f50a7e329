"""[edge_runtime] and [functions.<name>]: hosted functions (docs/reference/functions.md, sections 3 and 5).

The keys of the official `config.toml` are read unchanged; those about limits, schedules and addresses are ours.
"""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Amount, Count, Duration, Port, Seconds, Size

POLICIES = ("per_worker", "oneshot")
MIB = 1024 * 1024


class FunctionQueue(Struct, frozen=True):
    """[functions.<name>.queue]: the function consumes a queue of pgmq."""

    queue: str = ""
    """Name of the queue. Unset: the function consumes none."""
    batch: Count = 10
    """Messages of one call, at most 1000."""
    concurrency: Count = 5
    """Calls at a time, at most 100."""
    visibility: str = "60s"
    """How long messages are hidden from other consumers; it is extended while the function works on them. After a crash they come again so late."""
    retries: Amount = 8
    """How often a message that failed is tried again; then it is set aside."""
    backoff: str = "10s"
    """Pause before the first retry; it doubles with each, up to an hour."""
    dead_letter: str = ""
    """Queue for messages that failed too often. Unset: the archive of their own queue."""
    archive: bool = False
    """Messages that succeeded are moved to the queue's archive. Off: they are deleted."""


class FunctionJob(Struct, frozen=True):
    """[functions.<name>.job]: the function is a durable job (docs/queues-and-jobs.md). Its `schedule` starts a run instead of calling it."""

    enabled: bool = False
    """The function is a job: it is called for its runs, by `headwater:jobs`."""
    events: list[str] = field(default_factory=list)
    """Names of events that start a run, at most 20."""
    concurrency: Count = 10
    """Runs that it works on at a time, at most 500."""
    retries: Amount = 4
    """How often a step that failed is tried again, and an attempt that ended between two steps."""
    backoff: str = "10s"
    """Pause before the first retry; it doubles with each, up to an hour."""


class FunctionSettings(Struct, frozen=True):
    """[functions.<name>]: one function. Paths are relative to the folder of `config.toml`."""

    enabled: bool = True
    """Off: it is not served."""
    verify_jwt: bool = True
    """Callers need a token, or an API key that replaces one."""
    import_map: str = ""
    """Unset: the function's deno.json, deno.jsonc or import_map.json, then those of all functions."""
    entrypoint: str = ""
    """Unset: index.ts (or .js, .mjs, .jsx, .tsx) in the folder of its name."""
    static_files: list[str] = field(default_factory=list)
    """Patterns of files it may read, in addition to its own folder."""
    env: dict[str, Secret] = field(default_factory=dict)
    """Variables of this function alone."""
    schedule: str = ""
    """When it is called by the scheduler: five fields of cron."""
    timezone: str = "UTC"
    """Time zone of the schedule."""
    queue: FunctionQueue = field(default_factory=FunctionQueue)
    """The queue whose messages it gets."""
    job: FunctionJob = field(default_factory=FunctionJob)
    """The function is a durable job."""
    memory_mb: Count | None = None
    """Memory of one of its processes. Unset: as `edge_runtime.memory_mb`."""
    cpu_ms: Count | None = None
    """Processor time of one request. Unset: as `edge_runtime.cpu_ms`."""
    timeout_s: Seconds | None = None
    """How long it may take to begin a response. Unset: as `edge_runtime.timeout_s`."""
    concurrency: Count | None = None
    """Requests one of its processes works on at a time. Unset: as `edge_runtime.concurrency`."""
    max_instances: Count | None = None
    """Processes it may have at a time. Unset: as `edge_runtime.max_instances`."""
    allow_net: list[str] | None = None
    """Hosts it may reach, such as `api.example.com` or `10.0.0.1:443`. Unset: all but the platform's internal addresses."""
    database: bool | None = None
    """It gets SUPABASE_DB_URL and may reach the database. Unset: as `edge_runtime.database`."""


class EdgeRuntime(Struct, frozen=True):
    """[edge_runtime]: settings of all functions."""

    enabled: bool = True
    policy: str = "per_worker"
    """per_worker: a process answers many requests. oneshot: a new process for each."""
    inspector_port: Port = 8083
    """Accepted and not served."""
    deno_version: int = 2
    secrets: dict[str, Secret] = field(default_factory=dict)
    """Variables of all functions; their names must not begin with SUPABASE_, nor be one that the runtime itself reads (docs/functions.md)."""
    path: str = ""
    """Folder of the functions. Unset: `functions` beside `config.toml`."""
    db_url: Secret | None = None
    """SUPABASE_DB_URL of functions. Unset: the embedded database as role postgres, or the one of `db.url`."""
    database: bool = True
    """Functions get SUPABASE_DB_URL and may reach the database. Off: its address is blocked for them."""
    allow_inner: list[str] = field(default_factory=list)
    """Addresses that functions may reach although they are blocked by default: metadata and link-local ones such as `169.254.169.254`, and ports of
    this machine's loopback such as `127.0.0.1:11434`. `127.0.0.1` without a port opens all of loopback but the broker.
    """
    same_origin_pages: bool = False
    """Pages that functions return run as the API's origin, with its cookies and storage, and with the dashboard's: whoever writes a function, or
    finds a hole in its page, then acts as an administrator who opens it. Off: browsers give such pages an origin of their own.
    """
    unsafe_without_sandbox: bool = False
    """Run functions even where only Deno's own permissions keep them from the platform's files and passwords: on a system without Landlock
    (Linux older than 5.13, macOS), unless headwater was started as root.
    """
    memory_mb: Count = 256
    """Memory of a process, in MiB; beyond: 546."""
    cpu_ms: Count = 2000
    """Processor time of one request, in milliseconds; beyond: 546."""
    timeout_s: Seconds = 150.0
    """How long a function may take to begin a response; beyond: 504."""
    wall_s: Seconds = 400.0
    """Longest time of a request and the work behind it; beyond: 546, or the response is cut."""
    websocket_s: Seconds = 86400.0
    """How long a WebSocket may stay open."""
    idle_s: Seconds = 600.0
    """How long a process without work is kept."""
    boot_s: Seconds = 20.0
    """How long a process may take to start; beyond: 503."""
    concurrency: Count = 64
    """Requests one process works on at a time."""
    max_instances: Count = 4
    """Processes one function may have at a time."""
    max_requests: Count = 1024
    """Requests of all functions that one worker works on at a time."""
    max_body: Size = Size(5 * 1024 * MIB)
    """Longest body of a request to a function."""
    watch: Amount = 400
    """Milliseconds between two checks of the files of functions in use; 0: they are read once, at the start."""
    log_lines: Amount = 100
    """Lines one process may print in ten seconds; further ones are counted and dropped. 0: unlimited."""
    logs_max_age: Duration = Duration(24 * 3600)
    """How long the lines of functions are kept for `headwater functions logs`."""
    logs_max_size: Size = Size(64 * MIB)
    """Bytes of all lines kept; the oldest are dropped first."""
    offline: bool = False
    """Modules that imports name at other hosts than npm are taken from npm, or from ours, without asking whether those hosts answer."""
    versions_kept: Count = 10
    """Versions of a deployed function that are kept for a rollback."""
    region: str = "local"
    """SB_REGION of functions."""
