"""The realtime pool: answers the edges. Who may join and send, what filters mean, and which rows a caller may see."""
