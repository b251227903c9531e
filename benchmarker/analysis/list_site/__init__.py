"""The list: contests, the entries that count in each, their ranks, and a site of files that shows them."""
