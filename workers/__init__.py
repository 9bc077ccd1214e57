"""Prefect workers and the life of a vLLM server."""
