"""Statistics of grids: pure functions of sums per API, seeded and independent of the order of rows.

The unit of resampling is the target API: tasks of one API share its difficulty, so they are not independent.
"""
