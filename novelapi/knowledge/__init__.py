"""Stage 2: what there is to know about an API, in separable components."""
