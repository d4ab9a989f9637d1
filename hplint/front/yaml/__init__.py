"""YAML and JSON texts: a composer whose nodes carry spans, and the plans in them."""
