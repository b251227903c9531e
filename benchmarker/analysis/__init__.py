"""Many records: tables, comparisons, histories, charts, pages."""
