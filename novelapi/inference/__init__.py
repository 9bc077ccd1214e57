"""Prompts, sampling and the completion cache."""
