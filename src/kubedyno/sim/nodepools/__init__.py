"""The kwok-operator's NodePool objects, reconciled in its stead: a count and a template of a Node become nodes.

Unlike there, nodes have stable names (`<pool>-<index>`), a hostname label and addresses of their own, a changed
template is written onto the nodes that are there, and a node that was deleted comes back at once.
"""
