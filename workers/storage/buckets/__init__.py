"""Buckets as rows, their quotas, and how a bucket is emptied."""
