"""What is known of devices by what they can do: rates by which kernels are chosen. Data, and arithmetic on it."""
