"""Refusals of the endpoints by which functions are administered.

FunctionError (errors.py)
├── AdminForbidden 401      ├── NoSuchEndpoint 404      ├── NoVersion 404
├── DeployRefused 422       ├── SecretRefused 422       └── StoreDown 503
"""

from schemas.functions.errors import FunctionError


class AdminForbidden(FunctionError):
    """The caller is not the service role."""

    status = 401
    code = "UNAUTHORIZED_SERVICE_ROLE"
    message = "Administering functions needs the service key"


class NoSuchEndpoint(FunctionError):
    """There is no such endpoint, or not with this method."""

    status = 404
    code = "NOT_FOUND"
    message = "There is nothing at this path"


class BadRequest(FunctionError):
    """The body is not what the endpoint takes."""

    status = 400
    code = "BAD_REQUEST"
    message = "The body cannot be read"


class NoVersion(FunctionError):
    """The function was not deployed, or not in this version."""

    status = 404
    code = "NOT_FOUND"
    message = "There is no such deployed function or version"


class DeployRefused(FunctionError):
    """The bundle cannot be taken, or its modules cannot be fetched."""

    status = 422
    code = "DEPLOY_REFUSED"


class SecretRefused(FunctionError):
    """A secret cannot be taken."""

    status = 422
    code = "SECRET_REFUSED"


class StoreDown(FunctionError):
    """The blob store cannot be reached."""

    status = 503
    code = "STORE_UNAVAILABLE"
    message = "The blob store cannot be reached"
