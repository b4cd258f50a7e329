"""Answers the realtime edges: who may join and send, what filters mean, which rows somebody may see."""
