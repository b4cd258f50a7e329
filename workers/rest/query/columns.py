"""Parts of the one row that answers a request, which all its statements share. Pure."""

from operator import itemgetter

from workers.database.transactions.settings_statement import TRANSACTION_ID
from workers.rest.model import OutputColumn
from workers.rest.query.call import SCALAR
from workers.sql.compose import Sql, concat, constant, ident, literal, raw

T = raw("hw_t")
"""The rows of an answer, in its statement."""
NO_COUNT = raw("null::bigint")
ONE = raw("1::bigint")
AS = {name: constant(concat(raw(" as "), ident(name.value))) for name in OutputColumn}
"""What names a column."""
NAME = itemgetter(0)
SCALAR_VALUE = concat(T, raw("."), ident(SCALAR))
"""The value of a row of a function without columns."""


def _setting(name: str) -> Sql:
    return constant(concat(raw("nullif(pg_catalog.current_setting("), literal(name), raw(", true), '')")))


HEADERS, STATUS = _setting("response.headers"), _setting("response.status")
"""What functions set for the response."""
TRANSACTION_ID_VALUE = raw(TRANSACTION_ID)
