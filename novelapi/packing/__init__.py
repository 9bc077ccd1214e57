"""The least context that closes a model's failures."""
