"""Widgets: they show frames and report what a hand does; they never compute."""
