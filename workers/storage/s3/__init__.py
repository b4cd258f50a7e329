"""The S3-compatible endpoint: signatures, operations, answers in XML."""
