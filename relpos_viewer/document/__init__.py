"""What the user made: the frozen document, the session that holds it, and its files. No Qt here."""
