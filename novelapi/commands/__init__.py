"""The verbs of the command line, one file per family; each has `register(app)`."""
