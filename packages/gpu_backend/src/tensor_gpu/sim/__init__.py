"""A device that is simulated on the host: its own addresses, memory that is checked, streams that run late."""
