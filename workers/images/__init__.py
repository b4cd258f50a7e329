"""The images pool: renders images from the blob store, without database or network. Its only settings are its limits."""
