"""What draws: plots of numbers and diagrams of running code, each with its alt text."""
