"""The endpoints of storage, by what they do."""
