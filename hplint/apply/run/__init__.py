"""Ranks: started or joined, what they do, and what is told when one fails."""
