"""The tools by area; each module lists its own in `TOOLS`."""
