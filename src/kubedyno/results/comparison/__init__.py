"""Two sets of trials beside each other: what changed, how sure that is, and what could not have been seen. Pure."""
