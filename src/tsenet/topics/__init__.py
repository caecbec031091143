"""Topics of documents: the hierarchy, how it is learned, and how it is described."""
