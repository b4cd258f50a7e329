"""The statements of the scheduler by name."""

from workers.sql.files import read_statements

DURABLE_JOBS = read_statements("workers.scheduler.durable_jobs", "statements.sql")
JOBS = read_statements("workers.scheduler", "jobs.sql")
NET = read_statements("workers.scheduler", "net_requests.sql")
QUEUES = read_statements("workers.scheduler.queues", "statements.sql")
WAITING = read_statements("workers.scheduler", "http_requests.sql")
