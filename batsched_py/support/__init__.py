"""What every layer may use and no layer is about: files, checks of values, plug-ins, statistics."""
