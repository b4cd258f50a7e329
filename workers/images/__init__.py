"""The images pool: it renders images from the blob store. No database, no network, no settings but its limits."""
