"""The keys that verify access tokens at the door: ours, and those of foreign issuers."""
