"""What a plan costs on any mesh, without values and without other ranks."""
