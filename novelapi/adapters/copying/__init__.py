"""The parts of the copy baseline: how it reads a prompt, what it remembers, how it writes a call."""
