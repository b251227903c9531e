"""As ``cupyx.scipy``."""
