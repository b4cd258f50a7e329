"""Name the outside services that a platform uses, and where each was named (pure): a line for the report of a start."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from schemas.keys.secret import Secret
from schemas.settings.environment import own_name, read_environment
from schemas.settings.reading import USUAL_NAMES
from schemas.settings.tree import Settings
from services.supervisor.addresses import hosts_of
from services.supervisor.project.settings import Project

OPTIONS = {"HEADWATER_DB_URL": "--database-url", "HEADWATER_BROKER_URL": "--nats-url"}
"""Options of `headwater start` that name a service, by the variable that they stand for."""


def outside_services(project: Project) -> list[str]:
    """Return a sentence for each outside service: what it is, its host without login, and who named it."""
    variables = read_environment(project.environment).variables
    return [
        f"Using {label} at {place}, named by {_source(project, variables, key)}"
        for label, place, key in _services(project.settings)
    ]


def _services(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield label, host and dotted key of each outside service in use."""
    if settings.db.url:
        yield "the database", ", ".join(hosts_of(settings.db.url.reveal())), "db.url"
    if settings.broker.url:
        yield "the NATS server", _hosts(settings.broker.url), "broker.url"
    if settings.storage.enabled and settings.storage.backend == "s3":
        endpoint = settings.storage.s3.endpoint
        yield "the object store", endpoint or "AWS", "storage.s3.endpoint" if endpoint else "storage.backend"
    if settings.storage.enabled and settings.storage.webhook_url:
        yield "a receiver of storage's events", _hosts(settings.storage.webhook_url), "storage.webhook_url"
    smtp = settings.auth.email.smtp
    if settings.auth.enabled and smtp.host and smtp.enabled is not False:
        yield "the mail server", f"{smtp.host}:{smtp.port}", "auth.email.smtp.host"
    if endpoint := settings.observability.otlp_endpoint:
        yield "the collector of traces", endpoint, "observability.otlp_endpoint"


def _hosts(url: Secret) -> str:
    return ", ".join(urlsplit(text.strip()).netloc.rpartition("@")[2] for text in url.reveal().split(","))


def _source(project: Project, variables: dict[str, str], key: str) -> str:
    """Return the option, variable or key that named a service."""
    path = tuple(key.split("."))
    usual = next((name for name, its in USUAL_NAMES.items() if its == path), "")
    variable = variables.get(key) or (usual if project.environment.get(usual) else "")
    if not variable:
        return f"{key} in {project.config}" if project.config else own_name(path)
    source = project.sources.get(variable, "")
    if source == "option":
        return OPTIONS.get(variable, variable)
    return f"{variable} in {source or 'the environment'}"
