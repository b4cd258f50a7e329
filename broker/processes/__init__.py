"""The life of one process: start, readiness, heartbeat, drain, forking, and what the machine offers to confine one."""
