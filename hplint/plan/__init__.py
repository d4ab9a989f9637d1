"""What a plan says, nothing resolved."""
