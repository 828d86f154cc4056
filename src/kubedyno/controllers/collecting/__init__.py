"""Garbage collection: dependents follow their owners, or are orphaned, or keep them until they are gone themselves."""
