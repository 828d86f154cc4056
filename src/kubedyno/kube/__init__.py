"""API model as pure data: resource table, codec, quantities, selectors, patches, Status."""
