"""Pure steps of the statistics: what of a statement's text may be shown, whose sessions belong to the platform."""
