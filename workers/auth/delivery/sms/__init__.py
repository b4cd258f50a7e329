"""Text messages: one file a provider, all behind one protocol."""
