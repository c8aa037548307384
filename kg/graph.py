"""KnowledgeGraph (being written)."""


class KnowledgeGraph: ...
