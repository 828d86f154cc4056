"""Results that last: a store of runs on S3 or in a folder, its manifest, and the index that is searched."""
