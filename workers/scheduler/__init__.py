"""What runs on a schedule: jobs of SQL, functions, and requests over HTTP that SQL has asked for. One leader."""
