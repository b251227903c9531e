"""What several framework plug-ins share."""
