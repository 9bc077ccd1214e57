"""Stage 3: tasks and their harness."""
