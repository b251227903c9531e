"""A plugin that ends the process that imports it."""

raise SystemExit("this machine does not suit\nat all")
