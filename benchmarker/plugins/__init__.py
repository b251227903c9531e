"""Framework plugins that come with the package."""
