"""Tasks, knowledge and rows in the formats of other tools; nothing here needs those tools."""
