"""Other people's tasks, run as evidence that the executor runs them too."""
