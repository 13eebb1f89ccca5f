"""An example backend on PyTorch; importing it imports nothing."""
