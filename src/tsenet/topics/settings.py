"""`TopicSettings`: every constant of the learner of topics, with the reason for its value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TopicSettings:
    """Constants of :func:`tsenet.topics.mixture.learn_hierarchy`. None is to be tuned to a corpus.

    NPMI is that of documents that were not learned from; NMI is with their classes.

    Attributes
    ----------
    copies : int
        Of many copies of a document, so many count in learning: enough for a topic of their own, and not more if there
        are hundreds. If all count, NMI of an encyclopedia is .727, not .740, and 8 % of its topics are junk, not 0.
    gain : float
        Two words are tied if they occur together more often than by chance with this gain, in nats: a test at the level
        .025. At 4, the NMI of titles of papers falls by .06.
    prior : float
        Documents added to both sides of a tie. At .01, 69 % of the topics of film reviews are casts, not 47.
    upper_words : float
        Words whose occurrences tell as much as those of the word at this quantile have the full weight. Without
        weights, the NMI of medical abstracts falls from .26 to .22.
    least_weight : float
        Weight of a word that tells nothing: no word counts nothing.
    concentration : float
        How closely the first topics follow the words that they start from.
    sparsity : float
        Occurrences taken from every topic of a document in each step. Without this the NMI of titles falls by .04, and
        topics that start from words of one subject do not become one.
    passes : int
        Over the documents at the start; a quarter as many after topics were joined. Four instead of sixteen cost .01
        NMI.
    steps : int
        On the mixture of a document in each pass; 3 are as good as 6, 1 is worse.
    membership : float
        Smaller P(topic | word) are left out.
    spare : float
        Topics to start with for each one asked for; the smallest are dropped.
    most_topics, documents_per_topic : int
        The most topics to start with if their number is to be found, and fewest documents for each. A topic that is
        the main one of fewer joins another that it has something in common with.
    words : int
        Of a topic that are compared with those of another. As many describe it.
    same : float
        Two topics are one if the words of one occur with those of the other as often as this share of how often those
        of either topic occur together, compared with chance. It is the more often of the two: words of a general topic
        meet hardly more often than by chance, and it would take in every other. Of 5 to 200 planted subjects, those
        found in halves have about 1, different ones less than .1; baseball and hockey have .6.
    coherence, share : float
        A topic whose words have a smaller NPMI is junk to its readers, and so is one that is the main one of a smaller
        share of the documents, unless it has nothing in common with any other. At .003, half of the topics of film
        reviews are casts; at .01, NMI of newsgroups falls by .07.
    source : float
        A topic is that of one source, such as the cast of a film or the signature of a sender, if fewer than this
        share of the documents hold the pairs of its words. Casts have up to .0021 among film reviews, other topics
        from .005, storms .0023 and trade .004 among news.
    sample : float
        The words are to cohere in this share of the documents, so that topics of rare words do not count as coherent.
    short : int
        Documents with a median of fewer known words are short: that two words of a topic never meet in them says
        nothing, and topics may repeat words of the one above. NPMI of the lowest topics of DBLP's titles is −.28, with
        repeated words −.16; of M10's −.21 and −.11.
    largest_top, least_top : int
        Limits of the number of topics on top, if it is to be found and there are enough below.
    kinship : float
        A topic has a parent if the cosine of its profile with that of the others below this parent is larger. Of
        unrelated planted subjects it is at most .12; in an encyclopedia, of films below schools, it is .08, of species
        of plants and of animals .28.
    share_of_kinship : float
        And larger than this share of the median in the corpus, which is .2 among titles of questions and .5 among
        newsgroups. At 0, newsgroups have space below cars and questions have religion below business: NMI of the top
        is .55, not .57, on newsgroups and .64, not .71, in an encyclopedia. From .7, planted themes are missed.
    outliers : float
        Documents of the fit that fit no topic: those that are least likely. Of documents that were held out, about
        as many do not.
    most_entries : int
        Words of documents that topics are learned from. More change nothing that was measured.
    """

    copies: int = 4
    gain: float = 2.5
    prior: float = 3.0
    upper_words: float = 0.75
    least_weight: float = 0.02
    concentration: float = 5.0
    sparsity: float = 1.0
    passes: int = 8
    steps: int = 4
    membership: float = 0.02
    spare: float = 1.25
    most_topics: int = 300
    documents_per_topic: int = 10
    words: int = 10
    same: float = 0.65
    coherence: float = 0.05
    share: float = 0.006
    source: float = 0.0025
    sample: float = 0.5
    short: int = 15
    largest_top: int = 20
    least_top: int = 6
    kinship: float = 0.13
    share_of_kinship: float = 0.65
    outliers: float = 0.02
    most_entries: int = 1_000_000


#: The settings in use.
SETTINGS = TopicSettings()
