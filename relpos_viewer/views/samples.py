"""The short texts that ship with the program, as the Samples menu lists them."""

from __future__ import annotations

from dataclasses import dataclass

from relpos_viewer.resources import resource


@dataclass(frozen=True)
class Sample:
    """A text to start from, and the way of cutting it that shows what it is for."""

    file: str
    title: str
    tokenizer: str
    help: str

    def read(self) -> str:
        """Return the text, without the header line of a FASTA file."""
        text = resource("samples", self.file).read_text(encoding="utf-8")
        if self.file.endswith(".fasta"):
            text = text.partition("\n")[2]
        return text.rstrip("\n")


SAMPLES = (
    Sample(
        "pride-and-prejudice.txt", "Pride and Prejudice: one sentence", "words", "A sentence to begin with."
    ),
    Sample(
        "pride-and-prejudice-opening.txt", "Pride and Prejudice: the opening", "words", "About 100 words."
    ),
    Sample(
        "repeated-pattern.txt",
        "a b c a b c …",
        "words",
        "Equal tokens at different places: only position differs.",
    ),
    Sample("numbers.txt", "Token ids 5 17 3 8 …", "integers", "Numbers as they go into a model."),
    Sample("two-documents.txt", "Two documents", "words", "Parted by a blank line: try the document mask."),
    Sample(
        "many-scripts.txt",
        "Emoji and many scripts",
        "characters",
        "Joined emoji, right-to-left, CJK, accents.",
    ),
    Sample("protein.fasta", "Protein: melittin", "characters", "One letter an amino acid."),
    Sample("code.txt", "A few lines of Python", "words", "Names that come back, with punctuation between."),
)
