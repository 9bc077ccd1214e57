"""Prefect flows: the one composition of stages."""
