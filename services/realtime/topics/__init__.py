"""Broadcast and presence topics: which channels of this process take part, and how edges exchange messages."""
