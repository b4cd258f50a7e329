"""`headwater gen types`: types of the database for TypeScript and Python."""

from pathlib import Path

import click

from schemas.project_tasks import TypesTask
from services.cli.options import platform_options
from services.cli.project_work import finish


@click.group()
def gen() -> None:
    """Make program text from the database."""


@gen.command()
@platform_options
@click.argument("language", type=click.Choice(["typescript", "python"]), default="typescript")
@click.option(
    "-s", "--schema", "schemas", multiple=True, metavar="NAME",
    help="Schema, repeatable or separated by comma.  [default: those of [api] schemas]",
)  # fmt: skip
@click.option("--local", is_flag=True, hidden=True)
@click.option("--lang", type=click.Choice(["typescript", "python"]), hidden=True)
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
    headwater gen types python --schema public,api > database_types.py

    \b
    Exit codes: 0 written, 1 nothing runs, 2 the schema does not exist
    """
    del local  # an option of the official command line; types always come from the running platform
    names = [name.strip() for names_text in schemas for name in names_text.split(",") if name.strip()]
    chosen = lang or language
    finish(data, project, TypesTask("python" if chosen == "python" else "typescript", names))
