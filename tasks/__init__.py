"""Prefect tasks: thin wrappers around the core, with the same stems."""
