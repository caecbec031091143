"""Labels for texts, given in a browser: what `tsenet label` consists of.

- :mod:`tsenet.labelling.journal`: the file of labels, to which lines are only ever added;
- :mod:`tsenet.labelling.documents`: the texts, recognised by their content, and searches for them;
- :mod:`tsenet.labelling.state`: classes, labels, undo, notes: what the journal says, and what may be done to it;
- :mod:`tsenet.labelling.session`: the journal, the texts and the state of a file, and who labelled what;
- :mod:`tsenet.labelling.text_topics`: the topics, and which texts belong to them;
- :mod:`tsenet.labelling.learner`: models of the labels that there are, and what they say about every text;
- :mod:`tsenet.labelling.worker`: the process in which topics and models are learned;
- :mod:`tsenet.labelling.propose`: which texts to label next;
- :mod:`tsenet.labelling.estimate`: how good the model is;
- :mod:`tsenet.labelling.lists`: lists of texts, chosen and sorted;
- :mod:`tsenet.labelling.workspace`: all of this together, for any number of windows;
- :mod:`tsenet.labelling.exporter`: the files to leave with;
- :mod:`tsenet.labelling.server`: the page and what it asks for, on this machine only.
"""
