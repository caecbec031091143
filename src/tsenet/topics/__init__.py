"""Topics of documents: the hierarchy, how it is learned, how it is described, and how topics are shown."""
