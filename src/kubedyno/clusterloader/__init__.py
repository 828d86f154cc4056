"""ClusterLoader2's configs, run here: their language, their load, their measurements and their files."""
