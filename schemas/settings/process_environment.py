"""Environment variables that begin with `HEADWATER_` and are not settings: the only table of them.

Reading the settings skips these names without a warning. A test compares the table with the sources
(tests/schemas/settings/test_process_environment.py).
"""

PROCESS_VARIABLES: dict[str, str] = {
    "HEADWATER_ALIVE_FILE": "File that a process touches with every sign of life, for probes of containers.",
    "HEADWATER_BRANCH": "Option --branch of commands: the branch that they work on; `git`: that of the git branch that is checked out.",
    "HEADWATER_CLEARED_SETTINGS": "Keys of config.toml that are not read: a branch takes no key and no sender of its parent.",
    "HEADWATER_CONFIG": "Path of the project's config.toml.",
    "HEADWATER_DATA": "Path of the data folder.",
    "HEADWATER_DNS_ACTION": "Set for the program certificates.dns.hook: `present` or `cleanup`.",
    "HEADWATER_DNS_DOMAIN": "Set for it: the domain that the record proves.",
    "HEADWATER_DNS_NAME": "Set for it: the name of the record, of type TXT.",
    "HEADWATER_DNS_VALUE": "Set for it: the text of the record.",
    "HEADWATER_FORK_FD": "Descriptor of the fork server's socket to the supervisor.",
    "HEADWATER_FUNCTION_NODE": "Set in a function's process: whether it runs as a Node program.",
    "HEADWATER_FUNCTION_SOCKET": "Set in a function's process: path of the socket on which it answers.",
    "HEADWATER_GO_FD": "Pipe of a process that was started early: a line in it lets the process go on.",
    "HEADWATER_KEPT_FDS": "Descriptors of the gateway's sockets that systemd holds open while the service restarts.",
    "HEADWATER_LISTEN_FDS": "Descriptors of the gateway's sockets, bound by the supervisor.",
    "HEADWATER_MIGRATE_URL": "Database URL of the owner, who may create roles and schemas.",
    "HEADWATER_NEXT_DUE_FILE": "File in which the scheduler writes when a schedule is due next; a server of projects reads it.",
    "HEADWATER_PLATFORM": "Id, machine and data folder of a platform with an external database (JSON), which a second one is told.",
    "HEADWATER_POSTGRES_TOOLS": "Folder of pg_dump and its relatives, for a backup or restore.",
    "HEADWATER_PROCESS": "Name of a process, in its logs and metrics.",
    "HEADWATER_PROJECT_FOLDER": "Folder of migrations and seeds.",
    "HEADWATER_PROJECT_URL": "Database URL of role postgres, which runs the project's own SQL.",
    "HEADWATER_PROJECTS": "Option --root of `headwater projects`: folder of the server of projects.",
    "HEADWATER_READY_FD": "Pipe into which a process writes that it is ready, and its signs of life.",
    "HEADWATER_REMOTE": "Option --remote of `headwater start`: the block `[remotes.NAME]` of config.toml that applies.",
    "HEADWATER_REMOTE_OF_BRANCH": "Names of the block that a branch takes besides: its own, and that of its git branch.",
    "HEADWATER_SERVICE_KEY": "Option --key of commands that work on a platform elsewhere.",
    "HEADWATER_SHADOW_URL": "Database URL of the temporary server on which migrations are compared.",
    "HEADWATER_STREAM_SERVER_PORT": "Port of the NATS server for consumers of streams, for the process that publishes there.",
    "HEADWATER_STREAM_SERVER_SECRET": "Secret from which the passwords of its users are derived.",
    "HEADWATER_UPGRADED_FROM": "Release whose data the program of migrations brings up to date.",
    "HEADWATER_URL": "Option --url of commands that work on a platform elsewhere.",
    "HEADWATER_SEALING_KEY_PATH": "File with the sealing key, which continuous backup stores.",
    "HEADWATER_VAULT_KEY": "File with the key of the vault, which continuous backup stores.",
    "HEADWATER_VERSION": "Version of headwater that a backup is marked with.",
}
"""Name -> meaning."""
