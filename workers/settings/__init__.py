"""The settings that are stored in the database: read, decrypted, applied to the pools of a process while it runs."""
