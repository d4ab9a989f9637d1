"""Handing clean plans to torch.distributed.tensor."""
