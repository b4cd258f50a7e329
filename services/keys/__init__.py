"""The keys that verify access tokens in the gateway: the platform's own, and those of third-party issuers."""
