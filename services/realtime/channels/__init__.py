"""Channels of a socket: the state machine, the session that carries out its actions, and row changes of a channel."""
