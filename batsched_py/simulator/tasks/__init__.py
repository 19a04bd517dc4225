"""What jobs do: Batsim's profiles, and the tasks that share processors and links."""
