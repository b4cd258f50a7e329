"""Tables in the form of Apache Iceberg, in a folder or on S3. Needs the extra `streams`."""
