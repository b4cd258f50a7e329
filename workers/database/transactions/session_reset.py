"""Statements between two operations of one transaction, so that the second starts as if it were alone.

Settings are transaction-local, and so is whatever a function sets while it runs: `set_config(name, value, true)` lasts until
the transaction ends. Several operations that share a transaction (a REST batch, the root fields of a GraphQL document) would
share these values too, and a policy that reads one would judge the second operation by what the first one left. A savepoint
does not help, because releasing it keeps the settings and rolling back to it undoes the work. So between two operations:

    close all                   cursors
    reset all                   every setting, of whatever name, returns to the value the connection started with; that
                                includes placeholders such as `app.x` and `request.jwt.claim.sub`, session-wide values
                                (`set` without `local`), and settings that only a superuser's function may set
    discard temp, sequences     temporary tables, functions and types; `lastval()` (only where the operation could write)
    select ...                  session advisory locks are released, then role and settings are applied again

`reset all` does not change the role and the session authorization. The role is set to the login's first and then to the
caller's, so that the settings of a role are applied with the login's rights, as at the start of the transaction; the session
authorization cannot change, because the login is not a superuser. It also does not change `transaction_read_only` and the
isolation level: a transaction cannot become writable again after its first statement.

What remains, because PostgreSQL cannot undo it before the transaction ends: the mode of deferrable constraints (all of them
are checked at the commit), transaction-level advisory locks and row locks, the snapshot of a repeatable read, and statements
of SQL's PREPARE, which hold a text but no rights.
"""

from collections.abc import Sequence

from workers.database.transactions.model import Statement
from workers.database.transactions.settings_statement import settings_text

_CLOSE, _RESET = Statement("close all"), Statement("reset all")
_DISCARD = (Statement("discard temp"), Statement("discard sequences"))
_LOGIN = ("role", "none")


def session_reset_statements(
    settings: Sequence[tuple[str, str]], *, may_write: bool = True
) -> list[Statement]:
    """Return the statements between two operations; `settings` are those of the second, as in `TransactionSpec`.

    `may_write=False` is for transactions that only read: they cannot create temporary objects or use sequences.
    """
    applied = [_LOGIN, *settings]
    values = [text.encode() for pair in applied for text in pair]
    discards = _DISCARD if may_write else ()
    return [_CLOSE, _RESET, *discards, Statement(settings_text(len(applied)), values)]
