"""What phases do: which objects are made, changed or deleted, and when."""
