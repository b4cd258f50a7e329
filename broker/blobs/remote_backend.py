"""Open the backend of an object store. `broker/blobs/store.py` imports this module only where the settings name one: the library takes
5 MB of memory.
"""

from broker.blobs.connect import connect
from broker.blobs.model import BlobBackend, ThreadRunner
from broker.blobs.remote import RemoteBlobs
from broker.blobs.s3_uploads import unfinished_uploads
from schemas.settings.storage import Storage


def remote_backend(settings: Storage, run: ThreadRunner) -> BlobBackend:
    """Return the backend of the store that the settings name, without accessing it. Raises: ValueError, as `connect` does."""
    return RemoteBlobs(connect(settings), unfinished_uploads(settings), run)
