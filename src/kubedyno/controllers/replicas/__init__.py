"""ReplicaSets and Deployments: so many pods of a template, and the way from one template to the next."""
