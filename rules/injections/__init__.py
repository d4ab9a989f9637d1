"""Rules about injections."""
