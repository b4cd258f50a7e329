"""The services whose users may sign in: one module each, and what they share."""
