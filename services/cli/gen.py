"""`headwater gen types`: types of the database for programming languages."""

import http.client
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Literal, cast
from urllib.parse import quote

import click
import msgspec

from schemas.project_tasks import TypesTask
from services.cli.options import platform_options, refuse, running_platform
from services.cli.project_work import finish
from services.supervisor.addresses import gateway_url
from services.supervisor.errors import SupervisorError
from services.supervisor.loopback_tls import context_for
from services.supervisor.ports import Ports
from services.supervisor.project.work import project_of_state

_OWN = ("typescript", "python", "zod", "dart")
_OF_INTERFACE = ("go", "swift")
"""Languages that the metadata interface of the platform writes (docs/reference/schema-metadata.md)."""
_LANGUAGES = click.Choice([*_OWN, *_OF_INTERFACE])
_TIMEOUT_S = 60


class _Schema(msgspec.Struct):
    """A schema as the interface lists it."""

    name: str


@click.group()
def gen() -> None:
    """Make program text from the database."""


@gen.command()
@platform_options
@click.argument("language", type=_LANGUAGES, default="typescript")
@click.option(
    "-s", "--schema", "schemas", multiple=True, metavar="NAME",
    help="Schema, repeatable or separated by comma.  [default: those of [api] schemas]",
)  # fmt: skip
@click.option("--local", is_flag=True, hidden=True)
@click.option("--lang", type=_LANGUAGES, hidden=True)
def types(
    data: Path | None,
    project: Path | None,
    language: str,
    schemas: tuple[str, ...],
    local: bool,
    lang: str | None,
) -> None:
    """Write the types of the database's schemas to standard output.

    \b
    headwater gen types typescript > database.types.ts
    headwater gen types zod > database.schemas.ts
    headwater gen types python --schema public,api > database_types.py
    headwater gen types dart > lib/database.dart        (also: go, swift)

    \b
    Exit codes: 0 written, 1 nothing runs, 2 the schema does not exist
    """
    del local  # an option of the official command line; types always come from the running platform
    names = [name.strip() for names_text in schemas for name in names_text.split(",") if name.strip()]
    chosen = lang or language
    if chosen in _OF_INTERFACE:
        sys.stdout.write(_of_interface(data, project, chosen, names))
        return
    finish(data, project, TypesTask(cast(Literal["typescript", "python", "zod", "dart"], chosen), names))


def _of_interface(data: Path | None, project: Path | None, language: str, names: list[str]) -> str:
    """Return types of the metadata interface of the running platform."""
    _, state = running_platform(data, project)
    try:
        settings = project_of_state(state).settings
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    url = gateway_url(settings, Ports(**state.ports))
    chosen = quote(",".join(names or settings.api.schemas))
    key = state.values["SECRET_KEY"]
    schemas = msgspec.json.decode(
        _answer(f"{url}/pg/schemas?included_schemas={chosen}", key), type=list[_Schema]
    )
    if missing := [name for name in names if name not in {schema.name for schema in schemas}]:
        refuse(f"There is no schema {', '.join(missing)}.", code=2)
    return _answer(f"{url}/pg/generators/{language}?included_schemas={chosen}&follow_views=true", key)


def _answer(url: str, key: str) -> str:
    """Return the answer of the metadata interface; exit with its error if it has none."""
    request = urllib.request.Request(url, headers={"apikey": key})  # noqa: S310 - the platform's own address
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context_for(url)) as answer:  # noqa: S310 - as above
            return str(answer.read().decode())
    except (OSError, http.client.HTTPException) as error:
        detail = (
            error.read().decode(errors="replace") if isinstance(error, urllib.error.HTTPError) else str(error)
        )
        refuse(f"The platform does not write these types: {detail}", code=1)
