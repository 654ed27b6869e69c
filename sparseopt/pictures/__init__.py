"""Every plot (needs matplotlib); nothing below imports it."""
