"""Start, watch and stop the processes of a platform on one machine."""
