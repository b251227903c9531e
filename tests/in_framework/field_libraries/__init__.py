"""Programs that run under a framework's own interpreter: they load our weights into the field's own models."""
