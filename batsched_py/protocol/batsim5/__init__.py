"""The JSON protocol of Batsim 5, translated to the messages that all versions share."""
