"""API-selection scores of tool-calling artefacts: which tools an answer calls, with what, in which order."""
