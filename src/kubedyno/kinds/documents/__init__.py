"""OpenAPI documents: what kubectl needs for apply, diff and explain, made from the table of types."""
