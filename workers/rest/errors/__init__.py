"""The errors of the REST interface: code, status and text, one module for each step that raises them.

    base       RestError
    parse      1xx: the request is wrong
    plan       2xx: the schema cache does not have it
    execute    0xx: the database cannot be reached; errors of the database; results that the request does not allow
    respond    malformed `response.headers` and `response.status`
    token      3xx: the token is rejected
    database   exceptions of the database and its pool -> errors of these modules
    response   errors -> responses, in the spelling of the caller

Codes are written `PGRSTnnn` here; `dialect.py` spells them as the caller expects. Source: docs/reference/rest.md, section 20.
"""
