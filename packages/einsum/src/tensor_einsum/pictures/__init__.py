"""Pictures of plans: a plan as plain numbers, and how they are drawn. Only `drawing` imports matplotlib."""
