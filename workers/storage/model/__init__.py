"""What every part of storage shares: errors, names, media types, tokens. Pure."""
