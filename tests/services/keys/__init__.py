"""The keys at the door."""
