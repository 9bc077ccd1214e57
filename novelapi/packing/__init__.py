"""The least context that closes a model's failures, written for people and their tools."""
