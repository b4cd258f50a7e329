"""The machine as functions see it: their folders and users, the files and network addresses that they may use."""
