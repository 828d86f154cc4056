"""The definitions of KAI's and others' kinds that the reference scheduler reads, as small as they can be.

They are for labs whose server has none of them. A cluster, or a lab with KAI itself, has the real ones.
"""

from importlib import resources

from kubedyno.kube import codec
from kubedyno.kube.codec import Object


def definitions() -> list[Object]:
    """The CustomResourceDefinitions, by name."""
    folder = resources.files("kubedyno.schedulers.reference.definitions")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name)
    return [document for file in files for document in codec.read_yaml(file.read_bytes(), source=file.name)]
