"""Labels for texts, given in a browser: what `tsenet label` consists of.

- :mod:`tsenet.labelling.journal`: the file of labels, to which lines are only ever added;
- :mod:`tsenet.labelling.documents`: the texts, recognised by their content;
- :mod:`tsenet.labelling.session`: classes, labels, undo, notes: what the journal says;
- :mod:`tsenet.labelling.search`: documents that contain words or match an expression;
- :mod:`tsenet.labelling.propose`: which texts to label next;
- :mod:`tsenet.labelling.estimate`: how good the model is;
- :mod:`tsenet.labelling.learner`, :mod:`tsenet.labelling.worker`: topics and models, learned in a process of its own;
- :mod:`tsenet.labelling.export`: the files to leave with;
- :mod:`tsenet.labelling.server`: the page and what it asks for, on this machine only.
"""
