"""Pools, limits, templates and checks of the deployments."""
