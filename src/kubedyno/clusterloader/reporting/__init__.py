"""The files of a report folder, as ClusterLoader2 names and writes them."""
