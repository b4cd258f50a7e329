"""Who gains and who loses access by a text, tried as a migration and rolled back (docs/access.md)."""

from workers.management.areas.migrations.apply import migration_error, migration_url
from workers.management.interface.operation import OperationContext
from workers.project.access.model import AccessDifference, AccessQuestion
from workers.project.access.trial import access_of_migrations
from workers.project.errors import ProjectError
from workers.project.project_folder import Script

_LONGEST_S = 30.0
_STATEMENT_S = 5.0


async def try_access(
    context: OperationContext, text: str, users: list[str], sample: int, channels: list[str]
) -> AccessDifference:
    """Compare the access of roles and users before and after a text, for 30 seconds at most. Raises: ManagementError, Disconnected."""
    access, api = context.configuration.access, context.configuration.api
    question = AccessQuestion(
        users=users,
        sample=sample,
        channels=channels,
        tenant_claim=access.tenant_claim,
        tenant_column=access.tenant_column,
        search_path=list(api.extra_search_path),
        statement_timeout_s=min(_STATEMENT_S, context.settings.statement_timeout_s),
    )
    try:
        async with context.database.place():
            url = await migration_url(context)
            return await access_of_migrations(
                url, [Script("the migration", text)], question, timeout_s=_LONGEST_S
            )
    except ProjectError as error:
        raise migration_error(error) from None
