"""What is stored about the projects of a server: `project.json` of each, and the state of the server while it runs (JSON)."""

from msgspec import Struct, field

DEFAULT_PORT = 54330


class ProjectLimits(Struct, frozen=True):
    """What one project may take, so that the others keep their share. 0 is no limit."""

    requests: int = 200
    """Requests that are answered at the same time."""
    sockets: int = 1000
    """Open WebSockets."""
    disk_mib: int = 0
    """Size of the data folder, in MiB, from which writes are refused."""
    sleep_after_s: float = 300.0
    """Seconds without a request after which the project sleeps; 0: it never does."""


class ProjectRecord(Struct, frozen=True):
    """One project. It has no secrets: its keys are in the `.env` of its folder."""

    name: str
    folder: str
    """The project's folder, absolute: `supabase/`, `.env`, and the data folder `.headwater`."""
    created_at: float
    """Seconds since 1970."""
    hosts: list[str] = []
    """Host names beside `NAME.` and the host of the server; the first one is the project's public address."""
    limits: ProjectLimits = ProjectLimits()


class FrontOptions(Struct, frozen=True):
    """How the front gateway is reached; stored by `headwater projects start` for the next start."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    url: str = ""
    """Public address of the server; empty: http(s)://localhost and the port."""
    trusted_proxies: list[str] = []
    """Networks whose X-Forwarded-* count."""
    tls_cert: str = ""
    tls_key: str = ""
    wake_timeout_s: float = 90.0
    """Longest time that a request waits for a project that wakes."""


class ProjectStatus(Struct, frozen=True):
    """One project as it is now: `state` is asleep, starting, awake, stopping or failed; times are seconds since 1970."""

    name: str
    state: str
    since: float
    requests: int = 0
    sockets: int = 0
    refused: int = 0
    """Requests refused by a limit since the server started."""
    due_at: float | None = None
    """When it wakes by itself for the next scheduled job."""
    retry_at: float | None = None
    reason: str = ""
    """Why it could not be started, or what keeps it awake."""
    wake_s: float | None = None
    """How long it took to wake last."""
    disk_mib: int = 0


class ProjectsServerState(Struct, frozen=True):
    """The running server of projects. The file is readable by its owner alone: it holds the token of the control port."""

    pid: int
    version: str
    started: float
    url: str
    address: str
    """Where it listens, as a URL of this machine."""
    control_port: int
    token: str

    def __repr__(self) -> str:
        return f"ProjectsServerState(pid={self.pid}, url={self.url!r})"


class ControlRequest(Struct, frozen=True):
    """What a command asks of the running server: `action` is list, reload, wake, sleep or release."""

    action: str
    name: str = ""


class ControlReply(Struct, frozen=True):
    """The answer; `error` is empty if it was done."""

    error: str = ""
    projects: list[ProjectStatus] = field(default_factory=list)
