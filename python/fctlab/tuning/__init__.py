"""Numbers for schemes: thresholds that are solved, mappings that are learned."""
