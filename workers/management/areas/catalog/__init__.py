"""What the database holds, as administrators see it: `relations.py` reads tables with all that belongs to them, `objects.py` the rest."""
