"""Volumes and claims on them: bound to each other, provided by a make-believe provisioner, protected while in use."""
