"""What the model is: its module tree, built on the meta device in a child process and cached."""
