"""Knowledge in the weights: fine-tuning and editing."""
