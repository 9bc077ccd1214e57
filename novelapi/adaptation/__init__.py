"""Knowledge in the weights: training data, fine-tuning, editors, and what an edit did."""
