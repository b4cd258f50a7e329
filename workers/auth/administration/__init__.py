"""What the pool `auth` does for operations of administrators: it checks changed settings, previews emails, looks at providers."""
