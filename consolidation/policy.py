"""The constants of the science: what shapes the read models, and what weighs when a question is asked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any


def digest_of(policy: Any) -> str:
    """A policy's identity: 16 hex digits over its names and values."""
    return hashlib.sha256(json.dumps(asdict(policy), sort_keys=True, default=str).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class FoldPolicy:
    """What shapes the stored read models. Another value is another schema version, and so another generation."""

    # A month without use halves what use has built. Shorter, and yesterday's one-off beats last month's habit;
    # longer, and a project that has moved on keeps hearing its past.
    salience_half_life: timedelta = timedelta(days=30)
    # What was told on purpose never fades below this share of its value: it is a claim, not a glimpse.
    salience_floor: float = 0.2
    salience_start: float = 1.0
    salience_least: float = 0.05
    salience_most: float = 2.0
    # Each verdict closes this share of the distance to its bound, so no number of them can pass it, and the first
    # ones weigh most. A helped outcome says more than having been of use; irrelevance of one question says less.
    # After sixteen `used` a memory stands at 1.39, after sixteen `irrelevant` at 0.74. Small steps, for what was of use
    # to one question says little about another: five times larger ones cost questions that share no memory with those
    # that were judged 2.4 points of MRR on LoCoMo, these .4. What they teach of their own question stands in cues.
    salience_used: float = 0.03
    salience_helped: float = 0.06
    salience_irrelevant: float = 0.02

    # Cosines of all-MiniLM-L6-v2: from 0.55 two claims are about one topic, from 0.85 they say nearly the same.
    # They belong to that space; another space brings its own.
    prototype_coarse: float = 0.55
    prototype_fine: float = 0.85

    # What comes to mind beside a memory is a handful: with more edges a node, spreading reaches everything at once.
    edges_most: int = 8
    # An edge a fifth as strong as its node's strongest is noise beside it.
    edge_least_share: float = 0.2
    # Being together is a thing of the week's work; a claim itself lives longer (salience_half_life).
    edge_half_life: timedelta = timedelta(days=7)
    # One more joint event closes this share of what is missing to 1, so no edge grows without bound.
    edge_semantic: float = 0.5
    edge_temporal: float = 0.5
    edge_together: float = 0.6
    # Memories this alike, and of one topic, are neighbours in meaning; looser ones share only the topic's prototype.
    semantic_least: float = 0.6
    # Topics this alike are neighbours: half-way between unrelated (about 0.1) and one topic (0.55).
    topic_least: float = 0.35
    # Nearest neighbours in meaning that one new memory or topic is tied to.
    semantic_most: int = 3
    # A new memory is compared with so many of the last ones of its topic, and of its finer topic, so that what a
    # session costs does not grow with the store.
    semantic_looked: int = 48

    # A memory answers a bounded number of sorts of question; past that the weakest lesson goes.
    cues_most: int = 16
    # From here on two cues are one question in other words, and lessons of one count for the other.
    cue_same: float = 0.95
    # Below it two cues have nothing to tell each other, so one may be forgotten for the other. At most the threshold
    # with which questions are asked (ReadPolicy.cue_threshold).
    cue_foreign: float = 0.7
    # Each verdict closes this share of the distance to sure (1) or never (-1). What was used answers the question; what
    # was not needed this time may be needed for the next one like it: weighed as much as `used`, it took .006 more of
    # MRR from questions about other memories (offline replay of three LoCoMo conversations).
    cue_used: float = 0.5
    cue_irrelevant: float = 0.2

    # Two claims of one kind with this cosine say the same (contract, section 3).
    twin_cosine: float = 0.95
    # Stage -> scopes, sessions, and the share of the active scopes of its kind that evidence must come from.
    portable: tuple[int, int, float] = (2, 2, 0.25)
    contextual: tuple[int, int, float] = (4, 3, 0.55)
    everywhere: tuple[int, int, float] = (8, 5, 0.78)

    @property
    def digest(self) -> str:
        return digest_of(self)


@dataclass(frozen=True)
class ReadPolicy:
    """What weighs when a question is asked. Another value needs no rebuild; its digest stands in each retrieval."""

    # Salience orders what is about equally relevant and cannot beat relevance.
    salience_reach: float = 0.15

    # Fusion by score. Fitted on three of LoCoMo's ten conversations alone; the figures are what R@10 and MRR of their
    # 383 questions (.856, .674) lose without the part. tests/bench/ablation.py prints them for any conversations.
    # Words, a memory's own and, with twice the weight, those told around it: .073, .114; those around alone .020, .038.
    around_weight: float = 1.9
    words_weight: float = 1.0
    # The cosine: .041, .024.
    meaning_weight: float = 1.65
    # How much of the cosine is the memory's own; the rest is the mean of its two neighbours': -.011, .015.
    own_share: float = 0.65
    # A short turn means what was said before it, a long text speaks for itself: the share of the neighbours falls with
    # (25 + this) / (words + this): .004, .013.
    context_length: float = 30.0
    # A memory of the one person (or thing) that the question names, where memories say whose they are: .035, .051.
    named_bonus: float = 0.6
    # The best memory of a session speaks for the others: .004, .008.
    session_weight: float = 0.3
    session_best: int = 1
    # A memory that ends as a question tells nothing; what is told right after one that fits is likely its answer:
    # .014, .018 for the two.
    asking_penalty: float = 0.18
    answer_share: float = 0.1
    # "When" wants a memory that says a time: -.003, .009. A date in the question wants one of that date: .010, .021.
    timely_bonus: float = 0.4
    dated_bonus: float = 0.8
    # What feedback taught of a question: three quarters of being the best in words. After three rounds the judged
    # questions gain .078 of R@5 and .218 of MRR by it, others that share a memory with them .003 and .009, which is
    # within the noise, and the rest lose .003 of MRR (seven untuned conversations, tests/bench/feedback.py).
    # In an offline replay of the other three, .5 left .02 of that MRR behind, and 1 took .001 more from the rest.
    association_weight: float = 0.75

    # Nothing is answered unless the best cosine and the best share of the question that a memory says (by idf) come to
    # this together: unnormalised, so that the least bad of a scope is not taken for an answer. On the three
    # conversations that all constants were fitted on, it refuses .68 of the questions that were asked of another one,
    # AUROC .98, and .01 of those asked of it. It belongs to the vector space.
    floor: float = 0.6
    # Or the best cosine alone comes to this: the same thing in quite other words. It refuses no less.
    floor_cosine: float = 0.45
    # Both hold in a scope of 460 memories. The best cosine of n that have nothing to do with a question grows as their
    # spread (.07-.09 there) times sqrt(2 ln n), and so do the floors.
    floor_spread: float = 0.08
    # The same where only words are searched.
    floor_words: float = 0.3
    # A question about somebody whose memories are here is about this scope.
    floor_named: float = 0.1
    # A memory with less than this of its own stands by its neighbours alone, and below the second by nothing.
    floor_direct: float = 0.3
    floor_memory: float = 0.1

    # -- what feedback taught about a question

    # Cues less alike than this have nothing to tell each other; above it the likeness counts from 0 to 1 …
    # Of two questions with a cosine of .8 to .9 one in six has an answer in common, of .5 to .6 one in eighty (LoCoMo,
    # three conversations). From .3 and squared, what was learned took .03 of MRR from questions about other memories
    # (offline replay; half the association_weight of today).
    cue_threshold: float = 0.7
    # … raised to this power, so that near questions weigh much more than those on the same topic.
    cue_sharpness: float = 4.0

    # -- spreading

    # Each hop passes on this share, and two hops are the most: a third would reach most of a scope.
    hop_share: float = 0.5
    hops_most: int = 2
    # Activation starts at the best few direct hits (the best with 1, the others with their share of its score) …
    associated_seeds: int = 5
    # … and what less than this of it reaches is not worth a line: one lone strong tie, or several hits that agree.
    associated_floor: float = 0.10
    # What is associated scores half of what reaches it, so that it comes after every hit that answers about as well.
    # (Activation added to direct scores instead comes, on three conversations of LoCoMo, to R@10 +.004 and MRR -.000 at
    # a quarter of it, to -.004 and -.006 at a half.)
    associated_weight: float = 0.5
    # Of a page at most a fifth is associated.
    associated_share: float = 0.2

    # -- wider stages

    # A contextual memory comes from another world: it must be clearly more relevant to be shown (contract, section 3).
    contextual_factor: float = 0.70

    # -- procedures

    # Below this relevance a method is about something else, whatever it did for others.
    procedure_threshold: float = 0.30
    # The share of what meaning leaves open that equal words close.
    procedure_words: float = 0.3
    # Relevance counts from the first value on and fully at the second; what is above it adds little more. A task and
    # its own methods in other words have .64-.9, with methods of the project's other tasks up to .7
    # (tests/bench/procedures.py), so among methods for one task the record decides, and not the turn of phrase.
    procedure_relevant: tuple[float, float] = (0.20, 0.68)
    procedure_more: float = 0.05
    # Each report of help adds this share of the relevance, each report of harm takes more than twice as much, and
    # three of each count.
    procedure_helped: float = 0.038
    procedure_harmed: float = 0.10
    procedure_reports: int = 3
    # How far the rate of success over all reports moves it besides, so that five helps outweigh one unlucky failure
    # (it then costs the first place in 3 % of tasks; without the rate in 13 %).
    procedure_rate: float = 0.42
    # The rate starts as if one help and one harm had been reported, and a harm counts as more than two helps.
    procedure_harm_weight: float = 2.5
    # The record lifts a score by less than the first share, the first helps most, and lowers it by the second at most.
    # (A good method that fails once after five helps then loses the first place in 2.9 % of tasks; in 5.1 % where the
    # first share is .12) …
    procedure_record: tuple[float, float] = (0.10, 0.50)
    procedure_soon: float = 0.06
    # … and lifts the less, the less relevant a method is than the best one: by so much less, not at all. (Without it,
    # a method of another task that helped there five times comes first in 57 % of tasks; with it in 6 %.)
    procedure_near: float = 0.25
    # What is left of the relevance for each setting that the task contradicts: too little to be shown, unless the
    # task is otherwise told in the same words.
    procedure_contradicted: float = 0.32
    # A method that failed its own task, or reached a part of it, stands behind an equally relevant one that did not.
    procedure_failed: float = 0.10
    procedure_partial: float = 0.03
    # Equal summary and steps are the same method only for a goal of the same sort; other words are the same method
    # where the goals all but agree and the steps share most of their words.
    procedure_same_words: float = 0.75
    procedure_same: float = 0.90
    procedure_same_steps: float = 0.70

    @property
    def digest(self) -> str:
        return digest_of(self)
