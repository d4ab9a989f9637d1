"""Plans of styles on a model, the same for every dialect: what hits, what is cut, what stays whole."""
