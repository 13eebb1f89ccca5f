"""What a device offers, and how work reaches it: the interface, its arrays, and the order of what runs on them."""
