"""Which method comes first after it helped or harmed: 60 tasks with 3 to 6 methods of hidden success rates.

    python tests/bench/procedures.py [--seeds 20]

An agent asks for each task again and again, follows the first method and reports help or harm by the method's hidden
rate. Every task has one good method (.9) among fair (.5) and poor (.1) ones; a method's own task, from which it was
committed, went by its rate as well. One method breaks half way; one worked only in another context, which the task
states. Texts are embedded by the real model; the baseline is the same ranking without record, outcome and context.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np
from slw.adapters.embeddings import Embedder
from slw.consolidation.policy import ReadPolicy
from slw.consolidation.procedures import Method, procedure_text, ranked

DEEDS = (
    ("Deploy {} to production", "Ship {} to production", "Release {} to the production cluster"),
    ("Restore the database of {} from a backup", "Recover {}'s database", "Bring back {} data from last night's dump"),
    ("Rotate the credentials of {}", "Replace expired secrets used by {}", "Renew the API keys of {}"),
    ("Find out why {} answers slowly", "Profile slow requests of {}", "Track down the latency of {}"),
    ("Upgrade the dependencies of {}", "Bump outdated packages in {}", "Move {} to the current library versions"),
    ("Fix the flaky tests of {}", "Make the test suite of {} stable", "Stop random test failures in {}"),
    ("Add a column to a big table of {}", "Migrate the schema of {}", "Change the table layout of {} without downtime"),
    ("Translate {} into French", "Add French texts to {}", "Localise {} for French users"),
    ("Write the release notes of {}", "Summarise what changed in {}", "Prepare the changelog of {}"),
    ("Find the memory leak of {}", "Stop the memory of {} from growing", "See why {} runs out of memory"),
    ("Move the logs of {} to the new collector", "Ship {} logs to Loki", "Change where {} writes its logs"),
    ("Set up a developer machine for {}", "Get {} running on a new laptop", "Prepare a workstation to work on {}"),
    ("Onboard a new tenant to {}", "Create a customer account in {}", "Add a tenant to {}"),
    ("Cut the cloud costs of {}", "Reduce what {} costs a month", "Shrink the machines of {}"),
    ("Answer an audit about {}", "Collect audit evidence for {}", "Prepare {} for the auditors"),
    ("Split a module out of {}", "Extract a package from {}", "Refactor {} into two modules"),
    ("Add rate limits to {}", "Throttle clients of {}", "Protect {} from too many requests"),
    ("Rename a public endpoint of {}", "Change a route of {}", "Deprecate an old URL of {}"),
    ("Import a customer's CSV into {}", "Load a spreadsheet into {}", "Bulk load records into {}"),
    ("Renew the TLS certificate of {}", "Replace the expiring certificate of {}", "Update HTTPS certificates for {}"),
)
PLACES = ("the billing service", "the search index", "the mobile backend")
WAYS = (
    ("Work through the checklist for {}", "tick every line of the wiki page", "tell the channel when done"),
    ("Script the change of {} and run it twice", "read the log of the first run", "keep the script in tools"),
    ("Do it by hand on one machine of {} first", "compare it with a second machine", "go on with the rest"),
    ("Take a snapshot of {} before anything else", "change one thing at a time", "compare the metrics after each step"),
    ("Ask the owner of {} for a second pair of eyes", "pair on the risky step", "write down what was surprising"),
    ("Start from a clean checkout of {}", "pin what may move", "run the whole pipeline"),
)
CONTEXTS = ({"environment": "production"}, {"environment": "staging"})


@dataclass
class Task:
    """One task: how it is asked, its methods and their hidden rates."""

    number: int
    cue: str
    methods: list[Method]
    rates: list[float]
    others: list[Method] = field(default_factory=list)  # those of the scope's other tasks
    vector: np.ndarray = field(default_factory=lambda: np.zeros(0))
    vectors: dict[str, np.ndarray] = field(default_factory=dict)

    def order(self, policy: ReadPolicy, *, plain: bool) -> list[int]:
        """The task's own methods, best first; what is not shown stands last."""
        order = [i for i in self.shown(policy, plain=plain) if i >= 0]
        return order + [i for i in range(len(self.methods)) if i not in order]

    def shown(self, policy: ReadPolicy, *, plain: bool) -> list[int]:
        """What is shown, best first; -1 stands for a method of another task."""
        methods = [*self.methods, *self.others]
        if plain:
            methods = [replace(m, helped=0, harmed=0, outcome="success", context={}) for m in methods]
        found = ranked(self.cue, methods, policy, vector=self.vector, vectors=self.vectors)
        places = [one.procedure_id.split(".") for one in found]
        return [int(method) if int(task) == self.number else -1 for task, method in places]

    @property
    def good(self) -> int:
        return self.rates.index(max(self.rates))

    def report(self, which: int, *, helped: bool) -> None:
        m = self.methods[which]
        self.methods[which] = replace(m, helped=m.helped + helped, harmed=m.harmed + (not helped))


def tasks(chance: random.Random) -> list[Task]:
    found = []
    for number in range(60):
        deeds, place = DEEDS[number % len(DEEDS)], PLACES[number // len(DEEDS)]
        count = 3 + number % 4
        rates = [0.9, 0.5, 0.1, 0.1, 0.1, 0.1][:count]
        chance.shuffle(rates)
        ways = [tuple(step.format(place) for step in way) for way in chance.sample(WAYS, count)]
        methods = []
        for i, (rate, way) in enumerate(zip(rates, ways, strict=True)):
            outcome = "success" if chance.random() < rate else "failure"
            goal = chance.choice(deeds).format(place)
            methods.append(
                Method.of(
                    procedure_id=f"{number}.{i}",
                    position=i,
                    goal=goal,
                    summary=chance.choice(deeds).format(place),
                    steps=way,
                    outcome=outcome,
                )
            )
        found.append(Task(number, chance.choice(deeds).format(place), methods, rates))
    return found


def embedded(batch: list[Task], embed: Callable[[list[str]], np.ndarray]) -> None:
    everyone = [m for task in batch for m in task.methods]
    vectors = embed([procedure_text(m.goal, m.summary, m.steps, m.context) for m in everyone])
    by_id = {m.procedure_id: v for m, v in zip(everyone, vectors, strict=True)}
    for task, vector in zip(batch, embed([task.cue for task in batch]), strict=True):
        task.vector, task.vectors = vector, by_id
        # Nearest first, as the vector index gives them; the rest is never near the threshold.
        others = [m for m in everyone if not m.procedure_id.startswith(f"{task.number}.")]
        task.others = sorted(others, key=lambda m: -float(vector @ by_id[m.procedure_id]))[:20]


def cached(embedder: Embedder) -> Callable[[list[str]], np.ndarray]:
    held: dict[str, np.ndarray] = {}

    def embed(texts: list[str]) -> np.ndarray:
        new = [t for t in dict.fromkeys(texts) if t not in held]
        held.update(zip(new, embedder.embed(new), strict=True))
        return np.stack([held[t] for t in texts])

    return embed


def learn(task: Task, policy: ReadPolicy, chance: random.Random, outcomes: int, *, plain: bool) -> None:
    """Follow the first of the task's methods so many times, and report what became of it."""
    for _ in range(outcomes):
        first = task.order(policy, plain=plain)[0]
        task.report(first, helped=chance.random() < task.rates[first])


def measured(seed: int, policy: ReadPolicy, embed: Callable[[list[str]], np.ndarray], *, plain: bool) -> dict:
    chance = random.Random(seed)
    told = tasks(chance)
    embedded(told, embed)
    found: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)

    for task in told:
        at = 0
        for outcomes in (0, 5, 10, 20):
            learn(task, policy, chance, outcomes - at, plain=plain)
            at = outcomes
            note(f"right first after {outcomes} outcomes", task.order(policy, plain=plain)[:1] == [task.good])
        # Every method tried five times, as by agents that explore.
        tried = replace(task, methods=[replace(m, helped=0, harmed=0) for m in task.methods])
        for i, rate in enumerate(tried.rates):
            for _ in range(5):
                tried.report(i, helped=chance.random() < rate)
        note("right first after 5 outcomes of each", tried.order(policy, plain=plain)[:1] == [task.good])
        # Harm: the best placed other method harms twice, the good one has no reports.
        fresh = replace(task, methods=[replace(m, helped=0, harmed=0, outcome="success") for m in task.methods])
        other = next(i for i in fresh.order(policy, plain=plain) if i != task.good)
        fresh.report(other, helped=False)
        fresh.report(other, helped=False)
        order = fresh.order(policy, plain=plain)
        note("harmed twice stands below the good one", order.index(other) > order.index(task.good))
        # One unlucky failure of a good method that came first after five reports by its rate.
        lucky = replace(task, methods=[replace(m, helped=0, harmed=0) for m in task.methods])
        for _ in range(5):
            lucky.report(task.good, helped=True)
        if lucky.order(policy, plain=plain)[:1] == [task.good]:
            lucky.report(task.good, helped=False)
            note("demoted by one unlucky failure", lucky.order(policy, plain=plain)[:1] != [task.good])
        # The nearest method of another task helped five times, and nobody has tried this task's own.
        fresh = replace(task, methods=[replace(m, helped=0, harmed=0, outcome="success") for m in task.methods])
        fresh.others = [replace(m, helped=0, harmed=0, outcome="success") for m in task.others]
        note("of another task first, no reports", fresh.shown(policy, plain=plain)[0] < 0)
        fresh.others[0] = replace(fresh.others[0], helped=5)
        note("of another task first, helped there five times", fresh.shown(policy, plain=plain)[0] < 0)
        # Breaks half way: after ten helps every use harms; how many harms until it is no longer first.
        broken = replace(task, methods=[replace(m, helped=0, harmed=0) for m in task.methods])
        for _ in range(10):
            broken.report(task.good, helped=True)
        harms = 0
        while broken.order(policy, plain=plain)[:1] == [task.good] and harms < 10:
            broken.report(task.good, helped=False)
            harms += 1
        note("harms until the broken one is left", harms)
        # Worked only elsewhere: the favourite of another environment, and a cue that states this one.
        away = replace(task, methods=[replace(m, context=CONTEXTS[0]) for m in task.methods])
        wrong = (task.good + 1) % len(away.methods)
        away.methods[wrong] = replace(away.methods[wrong], context=CONTEXTS[1], helped=5, outcome="success")
        away.cue = f"{task.cue.removesuffix(' to production')} in production"
        note("wrong context first", away.shown(policy, plain=plain)[:1] == [wrong])
    return {name: fmean(values) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = range(parser.parse_args().seeds)
    embed, policy = cached(Embedder()), ReadPolicy()
    ours = [measured(seed, policy, embed, plain=False) for seed in seeds]
    base = [measured(seed, policy, embed, plain=True) for seed in seeds]
    print(
        f"{f'60 tasks x 3-6 methods, {len(seeds)} seeds':48s} {'slw':>6s}  {'min..max':>12s}  {'relevance alone':>15s}"
    )
    for name in ours[0]:
        mine, theirs = [r[name] for r in ours], [r[name] for r in base]
        print(f"{name:48s} {fmean(mine):6.3f}  {min(mine):5.3f}..{max(mine):5.3f}  {fmean(theirs):15.3f}")


if __name__ == "__main__":
    main()
