"""Charts for the page, as plotly draws them."""
