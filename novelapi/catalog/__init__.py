"""What can be benchmarked: libraries, models, groups, conditions."""
