"""Stage 1: which APIs are new between two releases."""
