"""Nodes and who watches over them: health, taints, evictions, and the pods of nodes that are gone."""
