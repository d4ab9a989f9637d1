"""Plans of styles, applied by the libraries that they are written for."""
