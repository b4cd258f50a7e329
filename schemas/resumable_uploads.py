"""Resumable uploads (TUS 1.0.0): the protocol version and the lease times that the gateway and the storage pool share.

A resumable upload has one writer at a time. The pool grants the writer a lease (a column of the upload's row); the gateway
renews it while bytes arrive. If the gateway dies, the lease ends by itself and the next request becomes the writer. The order
of the times matters: RENEW_S is far below LEASE_S, so a slow renewal does not lose the lease, and WAIT_S is above LEASE_S, so
a request that waits outlives the lease of a writer that died.
"""

VERSION = ("tus-resumable", "1.0.0")
"""The header that every request and every response has."""

LEASE_S = 10.0
"""Seconds until the lease of a writer ends without a renewal."""
RENEW_S = 2.0
"""Seconds between two renewals."""
WAIT_S = 12.0
"""Seconds that a request waits for the lease of another writer before it is answered with 503."""
RECOVERY_LEASE_S = 300.0
"""Lease of a worker that completes an upload whose gateway died: it reads and hashes all its bytes once more."""
