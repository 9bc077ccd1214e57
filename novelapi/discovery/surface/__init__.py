"""The static surface of a release: what its sources define, and by which public paths it can be reached."""
