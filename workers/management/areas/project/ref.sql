-- What the ref of a project is made of (ref.py).

-- name: identity
-- Identifies the cluster, not the machine: a standby and its primary have the same one.
select control.system_identifier::text, pg_catalog.current_database()::text
from pg_catalog.pg_control_system() as control
