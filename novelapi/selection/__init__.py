"""API-selection scores of tool-calling artefacts."""
