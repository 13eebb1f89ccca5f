"""An example backend; importing it imports nothing."""
