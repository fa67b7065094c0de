"""Canned reports: questions that people ask of their memory, each one query over the views of v1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Report:
    """A question in words, and in SQL."""

    question: str
    sql: str


REPORTS: Final[dict[str, Report]] = {
    "usefulness": Report(
        "How often what was shown was used, by scope and client.",
        """
        select s.scope, s.client, count(*) as judged,
               count(*) filter (f.assessment = 'used') as used,
               count(*) filter (f.assessment = 'irrelevant') as irrelevant,
               count(*) filter (f.assessment = 'stale') as stale,
               round(100.0 * count(*) filter (f.assessment = 'used') / count(*), 1) as used_percent
        from v1.feedback f join v1.sessions s using (session_id)
        where f.target = 'memory' and not f.withdrawn
        group by all order by judged desc, s.scope, s.client
        """,
    ),
    "stale": Report(
        "What no longer holds, why, and what holds in its place.",
        """
        select m.memory_id, m.scope, m.stale_reason, m.replaced_by, left(m.content, 80) as content, m.last_position
        from v1.memories m where m.state = 'stale' order by m.last_position desc, m.memory_id
        """,
    ),
    "never-retrieved": Report(
        "Live memories that were never shown to anyone.",
        """
        select m.memory_id, m.scope, m.type, m.recorded_at, left(m.content, 80) as content
        from v1.memories m
        where m.live and not exists (select 1 from v1.exposures e where e.target_id = m.memory_id)
        order by m.position
        """,
    ),
    "feedback-coverage": Report(
        "How much of what was shown was judged, by client.",
        """
        select s.client, count(*) as shown,
               count(*) filter (exists (
                   select 1 from v1.feedback f
                   where f.session_id = e.session_id and f.target_id = e.target_id and not f.withdrawn)) as judged,
               round(100.0 * judged / shown, 1) as judged_percent
        from v1.exposures e join v1.sessions s on s.session_id = e.session_id
        where e.place <> 'standing'
        group by s.client order by shown desc, s.client
        """,
    ),
    "cold-starts": Report(
        "Tasks that were opened with nothing to show, by scope.",
        """
        select r.scope, count(*) as opened,
               count(*) filter (r.memories + r.procedures + r.standing = 0) as cold,
               round(100.0 * cold / opened, 1) as cold_percent, max(r.recorded_at) as last_opened
        from v1.retrievals r where r.verb = 'activate' group by r.scope order by cold desc, r.scope
        """,
    ),
    "procedures": Report(
        "What each method did for those who used it.",
        """
        select procedure_id, scope, outcome, helped, no_effect, harmed, unknown, not_used, withdrawn,
               left(summary, 60) as summary
        from v1.procedures order by helped - 2 * harmed desc, helped desc, position
        """,
    ),
    "kinds": Report(
        "How memories divide into kinds, and who said so.",
        """
        select coalesce(kind, 'untyped') as kind, coalesce(kind_source, '') as source, count(*) as memories,
               round(avg(kind_confidence), 3) as confidence
        from v1.memories where live group by all order by memories desc, kind, source
        """,
    ),
    "tokens": Report(
        "About how many tokens of memory each client was shown, by day (four characters a token).",
        """
        select e.shown_at::date as day, s.client, count(distinct e.retrieval_id) as pages, count(*) as memories,
               sum(length(m.content)) // 4 as tokens
        from v1.exposures e
        join v1.sessions s on s.session_id = e.session_id
        join v1.memories m on m.memory_id = e.target_id
        group by all order by day desc, tokens desc, s.client
        """,
    ),
}
