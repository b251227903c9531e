"""Problems: one small file each, reading like the paper's table."""
