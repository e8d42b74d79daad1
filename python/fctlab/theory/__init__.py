"""The slotted big switch and its theorems."""
