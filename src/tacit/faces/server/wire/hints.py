"""Settings of PostgreSQL that say how fast it should work, or how dumps are written: kept, and without effect here."""

from __future__ import annotations

_ON = (
    "enable_async_append", "enable_bitmapscan", "enable_gathermerge", "enable_hashagg", "enable_hashjoin",
    "enable_incremental_sort", "enable_indexonlyscan", "enable_indexscan", "enable_material", "enable_memoize",
    "enable_mergejoin", "enable_nestloop", "enable_parallel_append", "enable_parallel_hash", "enable_partition_pruning",
    "enable_seqscan", "enable_sort", "enable_tidscan", "geqo", "check_function_bodies", "escape_string_warning",
    "synchronize_seqscans", "parallel_leader_participation",
)  # fmt: skip
_OFF = ("enable_partitionwise_aggregate", "enable_partitionwise_join", "quote_all_identifiers", "default_with_oids")
HINTS = {
    **dict.fromkeys(_ON, "on"),
    **dict.fromkeys(_OFF, "off"),
    "work_mem": "4MB",
    "hash_mem_multiplier": "2",
    "maintenance_work_mem": "64MB",
    "temp_buffers": "8MB",
    "effective_cache_size": "4GB",
    "effective_io_concurrency": "1",
    "random_page_cost": "4",
    "seq_page_cost": "1",
    "cpu_tuple_cost": "0.01",
    "cpu_index_tuple_cost": "0.005",
    "cpu_operator_cost": "0.0025",
    "parallel_setup_cost": "1000",
    "parallel_tuple_cost": "0.1",
    "max_parallel_workers": "8",
    "max_parallel_workers_per_gather": "2",
    "cursor_tuple_fraction": "0.1",
    "from_collapse_limit": "8",
    "join_collapse_limit": "8",
    "geqo_threshold": "12",
    "constraint_exclusion": "partition",
    "plan_cache_mode": "auto",
    "default_statistics_target": "100",
    "default_table_access_method": "heap",
    "default_tablespace": "",
    "xmloption": "content",
    "xmlbinary": "base64",
    "gin_fuzzy_search_limit": "0",
    "tcp_keepalives_idle": "0",
    "tcp_keepalives_interval": "0",
    "tcp_keepalives_count": "0",
    "client_connection_check_interval": "0",
}
