"""The `vllm` worker type."""
