"""Qt without widgets: the runner, undo, the table of actions, settings, colours."""
