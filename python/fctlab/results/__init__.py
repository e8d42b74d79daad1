"""Results: runs, comparisons, the directories that hold them, and their plots."""
