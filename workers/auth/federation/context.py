"""The context of code that talks to identity providers (`model/context.py` lists the contexts)."""

from dataclasses import dataclass, field

from workers.auth.accounts.context import AccountContext
from workers.auth.federation.document_cache import DocumentCache


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationContext(AccountContext):
    """An `AccountContext` with the documents that identity providers publish, cached for an hour."""

    documents: DocumentCache = field(default_factory=DocumentCache)
