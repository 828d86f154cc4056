"""Custom resources: definitions, schemas, and what the API server does to objects of custom kinds, as functions."""
