"""Values that the platform encrypted before it stored them: encrypted again when the keys change."""
