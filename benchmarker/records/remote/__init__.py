"""Results folders elsewhere, by any address that fsspec knows: objects, their copy here, index objects."""
