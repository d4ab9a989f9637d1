"""The sharded model against the unsharded one."""
