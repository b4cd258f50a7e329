"""The S3-compatible endpoint: one door for all its operations. Who asks is told by a signature, refusals are XML.

    path and query -> who signed it -> which operation -> its answer

Source: reference page "storage", section 10.
"""

import hashlib
import hmac
from dataclasses import replace

import msgspec

from broker.blobs.errors import BlobStoreDown
from broker.observability.observe import observe
from schemas.errors import ApiError
from schemas.http import Response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.storage.asked import Asked
from workers.storage.context import Store
from workers.storage.database_errors import refusal_of
from workers.storage.errors import StorageError, feature_not_enabled
from workers.storage.observations import database_refused
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking, read_asking
from workers.storage.s3.credentials import authenticated, authenticated_form
from workers.storage.s3.errors import S3Error, named
from workers.storage.s3.forms import FIELDS, fields_of
from workers.storage.s3.operations import FORM, operation_of


async def answer(store: Store, asked: Asked) -> Response:
    """Answer one request to `/s3`; every refusal is XML with the status that it really has."""
    try:
        return await _answer(store, asked)
    except S3Error as error:
        refused = error
    except StorageError as error:
        refused = named(error)
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        told = refusal_of(error)
        if isinstance(error, DatabaseError) and told.inner >= 500:
            observe(database_refused(error, asked.request.id))
        refused = named(told)
    except BlobStoreDown:
        refused = S3Error("ServiceUnavailable", "The blob store does not answer", 503)
    except ApiError as error:
        refused = S3Error("InvalidRequest", str(error), error.status)
    resource = asked.request.path.removeprefix("/s3").removeprefix("/")
    return xml.refusal(refused, resource, asked.request.id)


async def _answer(store: Store, asked: Asked) -> Response:
    if not store.settings.s3_protocol.enabled:
        raise feature_not_enabled("s3 protocol")
    asking = read_asking(asked)
    fields = fields_of(asking)
    if fields is not None:
        asking = await authenticated_form(store, store.keyring, asking, fields)
        return await FORM.answer(store, _known_as(asking, FORM.name))
    asking = await authenticated(store, store.keyring, asking)
    operation = operation_of(asking)
    if not operation.has_bytes:
        _refuse_other_body(asking)
    return await operation.answer(store, _known_as(asking, operation.name))


def _known_as(asking: Asking, operation: str) -> Asking:
    """Give a request with the name that policies know it by; they are not told the fields of a form."""
    request = asking.asked.request
    told = msgspec.structs.replace(request, headers=[pair for pair in request.headers if pair[0] != FIELDS])
    return replace(asking, asked=replace(asking.asked, request=told, operation=operation))


def _refuse_other_body(asking: Asking) -> None:
    """Raises: S3Error if the body is not the one that was signed. Bytes of objects are the edge's to look at."""
    if len(asking.payload) != 64:
        return
    made = hashlib.sha256(asking.asked.body).hexdigest()
    if not hmac.compare_digest(made, asking.payload.lower()):
        message = "The provided 'x-amz-content-sha256' header does not match what was computed."
        raise S3Error("XAmzContentSHA256Mismatch", message)
