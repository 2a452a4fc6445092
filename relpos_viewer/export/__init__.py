"""What leaves the program: figures and arrays. No Qt, no display."""
