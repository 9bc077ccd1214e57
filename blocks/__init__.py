"""Prefect blocks: configured outside things."""
