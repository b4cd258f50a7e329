"""The project folder as the supervisor reads it: settings, `.env` files, buckets, work on the database."""
