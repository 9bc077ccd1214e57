"""Chunks, index and queries of the retrieval arm."""
