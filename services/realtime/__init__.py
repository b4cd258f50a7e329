"""The realtime edge: sockets, channels, presence, and the delivery of row changes."""
