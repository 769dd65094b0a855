-- The named statements of the PostgreSQL database, besides those in `database/queries.sql`. Loaded by `schema.queries`.
--
-- Rows are passed as arrays, one per column. Rows that other workers may use are sorted, and locks are taken in one
-- order by everyone: worker, own tasks and hosts, budgets of hosts, new hosts, seen, budgets, hosts of others, tally,
-- outbox. This prevents deadlocks.

-- name: worker_insert
INSERT INTO worker (name, started_at, alive_until, dead_after_seconds) VALUES ($1, $2, $3, $4) RETURNING id;

-- name: worker_heartbeat
-- No row: the lease expired, and the worker was ended.
UPDATE worker SET alive_until = greatest(alive_until, $2) WHERE id = $1 AND ended_at IS NULL RETURNING id;

-- name: worker_last_write
-- Waits for the last statement of an earlier connection of this worker: the server may still execute it. Writes and
-- leases of hosts lock this row.
SELECT last_write FROM worker WHERE id = $1 FOR UPDATE;

-- name: worker_cut_off
UPDATE worker SET is_cut_off = $2 WHERE id = $1 AND ended_at IS NULL;

-- name: peers
-- Live workers, those of the others cut off from Redis, and what is announced of us; NULL when we are not alive.
SELECT count(*) AS workers, count(*) FILTER (WHERE is_cut_off AND id <> $1) AS cut_off,
       bool_or(is_cut_off) FILTER (WHERE id = $1) AS is_announced
FROM worker WHERE ended_at IS NULL AND alive_until > $2;

-- name: workers_dead
-- Skips workers that are writing at this moment. A lease that ends later than possible is from before a clock rollback.
SELECT id, name FROM worker WHERE ended_at IS NULL AND (alive_until < $1 OR alive_until > $1 + dead_after_seconds + $2::float8)
ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: workers_end
UPDATE worker SET ended_at = $2, hosts = NULL WHERE id = ANY($1::bigint[]) AND ended_at IS NULL;

-- name: workers_delete
-- Their last writes are no longer asked about.
DELETE FROM worker WHERE ended_at < $1;

-- name: workers_alive
SELECT count(*) FROM worker WHERE ended_at IS NULL AND alive_until > $1 AND hosts IS NOT NULL AND id <> $2;

-- name: hosts_lock_leased
-- The hosts leased by some workers.
SELECT id, origin, state FROM host WHERE holder = ANY($1::bigint[]) ORDER BY id FOR UPDATE;

-- name: hosts_recover
UPDATE host h SET holder = NULL, ready_at = g.ready_at, state = coalesce(g.state, h.state)
FROM unnest($1::bigint[], $2::float8[], $3::bytea[]) AS g (id, ready_at, state) WHERE h.id = g.id;

-- name: hosts_leased_by
SELECT id, origin, state FROM host WHERE holder = $1;

-- name: worker_load
-- The workers, the hosts they lease, and the free hosts.
SELECT count(*) AS workers, coalesce(sum(hosts), 0) AS leased, coalesce(min(hosts), 0) AS min_leased,
       coalesce(sum(hosts) FILTER (WHERE id <> $1), 0) AS leased_by_others,
       (SELECT count(*) FROM (
           SELECT FROM host WHERE has_work AND holder IS NULL AND ready_at <= $2 ORDER BY ready_at LIMIT $3
       ) free) AS free_hosts,
       (SELECT ready_at FROM host WHERE has_work AND holder IS NULL AND ready_at > $2 ORDER BY ready_at LIMIT 1) AS next_free_at
FROM worker WHERE ended_at IS NULL AND alive_until > $2 AND hosts IS NOT NULL;

-- name: worker_report_hosts
UPDATE worker SET hosts = $2 WHERE id = $1 AND ended_at IS NULL;

-- name: hosts_lease
-- Leases the hosts that have been ready longest; none for a worker that was ended.
WITH me AS (
    SELECT id FROM worker WHERE id = $1 AND ended_at IS NULL FOR KEY SHARE
), due AS (
    SELECT id FROM host WHERE has_work AND holder IS NULL AND ready_at <= $2 ORDER BY ready_at LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE host h SET holder = me.id FROM me WHERE h.id = ANY(ARRAY(SELECT id FROM due)) RETURNING h.id, h.origin, h.state
)
SELECT t.id, t.origin, t.state, (SELECT r.copy FROM robots r WHERE r.host_id = t.id) AS copy FROM taken t;

-- name: hosts_lock
-- Waits for transactions that add tasks there; the next statement sees their tasks.
SELECT id FROM host WHERE id = ANY($1::bigint[]) AND holder = $2 ORDER BY id FOR UPDATE;

-- name: hosts_release
-- Releases hosts: free from their next request on, or idle without a task.
UPDATE host h SET holder = NULL, has_work = first.due IS NOT NULL,
    ready_at = greatest(g.ready_at, first.due / 1000.0), state = coalesce(g.state, h.state)
FROM unnest($1::bigint[], $2::float8[], $3::bytea[]) AS g (id, ready_at, state)
CROSS JOIN LATERAL (
    SELECT min(f.due) AS due FROM (VALUES (0::smallint), (1), (2), (3)) AS ranks (rank)
    CROSS JOIN LATERAL (
        SELECT due FROM queue WHERE host_id = g.id AND rank = ranks.rank ORDER BY due LIMIT 1
    ) f
) first
WHERE h.id = g.id
RETURNING h.has_work, h.ready_at;

-- name: hosts_find
SELECT id, origin FROM host WHERE origin = ANY($1::text[]);

-- name: hosts_add
-- They have work at once: a host is only added with a task.
INSERT INTO host (origin, has_work, ready_at) SELECT origin, true, $2 FROM unnest($1::text[]) AS o (origin)
ON CONFLICT (origin) DO NOTHING RETURNING id, origin;

-- name: hosts_lock_shared
-- Before tasks are added to hosts that others may lease: prevents marking them idle until this transaction ends.
SELECT id FROM host WHERE id = ANY($1::bigint[]) ORDER BY id FOR KEY SHARE;

-- name: hosts_mark_ready
-- Makes hosts that nobody leases ready earlier. A worker looks for new tasks before it releases a host.
UPDATE host h SET has_work = true,
    ready_at = CASE WHEN h.has_work THEN least(h.ready_at, g.due) ELSE g.due END
FROM unnest($1::bigint[], $2::float8[]) AS g (id, due)
WHERE h.id = g.id AND h.holder IS NULL AND (NOT h.has_work OR h.ready_at > g.due);

-- name: hosts_update
UPDATE host h SET state = g.state FROM unnest($1::bigint[], $2::bytea[]) AS g (id, state) WHERE h.id = g.id;

-- name: robots_put
INSERT INTO robots (host_id, copy) SELECT * FROM unnest($1::bigint[], $2::bytea[])
ON CONFLICT (host_id) DO UPDATE SET copy = excluded.copy;

-- name: host_by_origin
SELECT h.id, h.origin, h.state, r.copy FROM host h LEFT JOIN robots r ON r.host_id = h.id WHERE h.origin = $1;

-- name: seen_add
-- Returns only new ones. Most are known: a lookup first is cheaper than a failed insert. The arrays are sent as text,
-- which costs the sender a quarter.
INSERT INTO seen (host_id, key)
SELECT g.host_id, g.key FROM unnest($1::text::bigint[], $2::text::bigint[]) AS g (host_id, key)
WHERE NOT EXISTS (SELECT FROM seen s WHERE s.host_id = g.host_id AND s.key = g.key)
ON CONFLICT DO NOTHING RETURNING host_id, key;

-- name: seen_after
SELECT s.host_id, s.key, h.origin FROM seen s JOIN host h ON h.id = s.host_id
WHERE (s.host_id, s.key) > ($1, $2) ORDER BY s.host_id, s.key LIMIT $3;

-- name: database_copy_id
-- Differs between copies of a database: after a restored dump, a recovery, or a failover to a standby.
SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()),
                 left(pg_walfile_name(pg_current_wal_lsn()), 8), pg_relation_filenode('seen'));

-- name: seen_forget
DELETE FROM seen s USING unnest($1::bigint[], $2::bigint[]) AS g (host_id, key)
WHERE s.host_id = g.host_id AND s.key = g.key;

-- name: queue_add
INSERT INTO queue (host_id, rank, due, key, path, depth, source, found, via, attempt, record_id, chain, hint)
SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::text[], $6::integer[], $7::smallint[],
                     $8::bigint[], $9::bigint[], $10::integer[], $11::bigint[], $12::bytea[], $13::smallint[])
ON CONFLICT DO NOTHING;

-- name: queue_remove
DELETE FROM queue q
USING unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[]) AS g (host_id, rank, due, key)
WHERE q.host_id = g.host_id AND q.rank = g.rank AND q.due = g.due AND q.key = g.key;

-- name: queue_reschedule
-- A rescheduled task stays, with another time.
UPDATE queue q SET due = g.new_due, attempt = g.attempt, record_id = g.record_id, hint = g.hint
FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::bigint[],
            $8::smallint[]) AS g (host_id, rank, due, key, new_due, attempt, record_id, hint)
WHERE q.host_id = g.host_id AND q.rank = g.rank AND q.due = g.due AND q.key = g.key;

-- name: queue_due
-- The due tasks of some hosts with their stored copies: of each host the best, up to its limit, and the first of each
-- level, so that the host knows which task has waited longest. That one may be returned twice.
SELECT asked.host_id AS asked, q.rank, q.due, q.key, q.path, q.depth, q.source, q.found, q.via, q.attempt, q.record_id,
       q.chain, q.hint,
       (SELECT (SELECT h.origin FROM host h WHERE h.id = r.host_id) || r.path FROM record r WHERE r.id = q.via) AS via_url,
       stored.fetched_at, stored.status, stored.kind, stored.etag, stored.last_modified, stored.content_length, stored.url_list,
       stored.change_history, stored.content_hash, stored.fingerprint
FROM unnest($1::bigint[], $2::integer[]) AS asked (host_id, most)
CROSS JOIN LATERAL (
    (
        (SELECT * FROM queue WHERE host_id = asked.host_id AND rank = 0 AND due <= $3 ORDER BY due, key LIMIT asked.most)
        UNION ALL
        (SELECT * FROM queue WHERE host_id = asked.host_id AND rank = 1 AND due <= $3 ORDER BY due, key LIMIT asked.most)
        UNION ALL
        (SELECT * FROM queue WHERE host_id = asked.host_id AND rank = 2 AND due <= $3 ORDER BY due, key LIMIT asked.most)
        UNION ALL
        (SELECT * FROM queue WHERE host_id = asked.host_id AND rank = 3 AND due <= $3 ORDER BY due, key LIMIT asked.most)
        LIMIT asked.most
    )
    UNION ALL
    (SELECT * FROM queue WHERE host_id = asked.host_id AND rank = 1 AND due <= $3 ORDER BY due, key LIMIT 1)
    UNION ALL
    (SELECT * FROM queue WHERE host_id = asked.host_id AND rank = 2 AND due <= $3 ORDER BY due, key LIMIT 1)
    UNION ALL
    (SELECT * FROM queue WHERE host_id = asked.host_id AND rank = 3 AND due <= $3 ORDER BY due, key LIMIT 1)
) q
-- The LIMIT makes the planner use the key.
LEFT JOIN LATERAL (SELECT * FROM stored_copy WHERE id = q.record_id LIMIT 1) stored ON true;

-- name: queue_next_due_after
-- When the next task of some hosts becomes due.
SELECT asked.host_id, min(f.due) AS due
FROM unnest($1::bigint[]) AS asked (host_id)
CROSS JOIN (VALUES (0::smallint), (1), (2), (3)) AS ranks (rank)
CROSS JOIN LATERAL (
    SELECT due FROM queue WHERE host_id = asked.host_id AND rank = ranks.rank AND due > $2 ORDER BY due LIMIT 1
) f
GROUP BY asked.host_id;

-- name: queue_find
SELECT q.rank, q.due, q.key, q.path, q.depth, q.source, q.found, q.via, q.attempt, q.record_id, q.chain, q.hint
FROM (VALUES (0::smallint), (1), (2), (3)) AS ranks (rank)
CROSS JOIN LATERAL (SELECT * FROM queue WHERE host_id = $1 AND rank = ranks.rank AND key = $2 LIMIT 1) q;

-- name: waiting_after
-- A batch of waiting tasks of all hosts, in primary key order.
SELECT q.host_id, q.rank, q.due, q.key, (SELECT h.origin FROM host h WHERE h.id = q.host_id) || q.path AS url, q.source
FROM queue q WHERE (q.host_id, q.rank, q.due, q.key) > ($1, $2, $3, $4)
ORDER BY q.host_id, q.rank, q.due, q.key LIMIT $5;

-- name: hosts_lock_unleased
-- Locks those of some hosts that nobody leases, so that nobody leases one until this transaction ends.
SELECT id FROM host WHERE id = ANY($1::bigint[]) AND holder IS NULL ORDER BY id FOR NO KEY UPDATE;

-- name: queue_rank
UPDATE queue q SET rank = g.better
FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::smallint[])
    AS g (host_id, rank, due, key, better)
WHERE q.host_id = g.host_id AND q.rank = g.rank AND q.due = g.due AND q.key = g.key RETURNING q.key;

-- name: ids_reserve
SELECT nextval('number') FROM generate_series(1, $1);

-- name: record_put_values
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::integer[],
    $9::smallint[], $10::smallint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::integer[],
    $16::text[], $17::integer[], $18::bigint[], $19::bigint[], $20::bytea[], $21::bigint[], $22::text[],
    $23::text[], $24::text[])

-- name: record_put_page_values
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::integer[],
    $9::smallint[], $10::smallint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::integer[],
    $16::bigint[], $17::bigint[], $18::bytea[], $19::bigint[], $20::text[], $21::bigint[], $22::bytea[], $23::text[],
    $24::text[], $25::text[], $26::text[], $27::text[], $28::text[], $29::text[], $30::integer[], $31::bigint[],
    $32::integer[], $33::text[], $34::text[], $35::text[], $36::text[], $37::text[], $38::integer[], $39::bigint[],
    $40::float8[], $41::bytea[], $42::text[], $43::bigint[])

-- name: record_confirm
-- The site confirmed the stored page or list.
UPDATE record r SET
    state = g.state, status = 'fetched', http_status = coalesce(r.page_status, 200), last_visit_at = g.at,
    next_visit_at = g.next_visit_at, error_count = 0, error_message = NULL, attempt = g.attempt, last_visit = g.visit,
    fetched_at = g.at, etag = coalesce(g.etag, r.etag), last_modified = coalesce(g.last_modified, r.last_modified),
    stale_since = NULL, stale_why = NULL,
    validation_status = CASE WHEN r.rejection_reason IS NULL THEN r.validation_status END, rejection_reason = NULL
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::integer[], $6::bigint[], $7::text[], $8::text[])
    AS g (id, state, at, next_visit_at, attempt, visit, etag, last_modified)
WHERE r.id = g.id;

-- name: stored_pages
-- The stored versions of some pages, and when the current round began.
SELECT id, content_id, fetched_at, (SELECT convert_from(value, 'UTF8')::bigint FROM meta WHERE name = 'round_began'),
       fingerprint, duplicate_of,
       kind, content_hash, title, description, canonical, language, page_status, headline, authors, published, words
FROM record WHERE id = ANY($1::bigint[]) AND content_id IS NOT NULL;

-- name: record_url_list
UPDATE record r SET url_list = g.url_list, fetched_at = g.at, etag = g.etag, last_modified = g.last_modified
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[]) AS g (url_list, at, etag, last_modified, id)
WHERE r.id = g.id;

-- name: record_missing_url_list
-- URL lists are expected there.
UPDATE record SET url_list = '' WHERE id = ANY($1::bigint[]) AND url_list IS NULL;

-- name: queue_move
UPDATE queue q SET due = g.due
FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[]) AS g (due, host_id, rank, was_due, key)
WHERE q.host_id = g.host_id AND q.rank = g.rank AND q.due = g.was_due AND q.key = g.key
RETURNING q.host_id, q.rank, q.due, q.key, q.path, q.depth, q.source, q.found, q.via, q.attempt, q.record_id, q.chain, q.hint,
          (SELECT (SELECT h.origin FROM host h WHERE h.id = v.host_id) || v.path FROM record v WHERE v.id = q.via);

-- name: expedite_find
-- Pages with a scheduled recrawl that were last visited before given times.
SELECT r.id, r.host_id, r.next_visit_at, r.key, r.change_history
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS g (host_id, key, at)
CROSS JOIN LATERAL (SELECT * FROM record WHERE host_id = g.host_id AND key = g.key LIMIT 1) r
WHERE r.state = 'waiting' AND r.next_visit_at > $4 AND r.last_visit_at < g.at;

-- name: expedite_queue
-- 32 in a hint: a change was announced. The rank may differ from the record's by now.
UPDATE queue q SET due = $4, hint = (coalesce(q.hint, 0) | 32)::smallint
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS g (host_id, due, key)
WHERE q.host_id = g.host_id AND q.rank = ANY('{0,1,2,3}'::smallint[]) AND q.due = g.due AND q.key = g.key
RETURNING q.host_id, q.rank, q.due, q.key, q.path, q.depth, q.source, q.found, q.via, q.attempt, q.record_id, q.chain, q.hint,
          (SELECT (SELECT h.origin FROM host h WHERE h.id = v.host_id) || v.path FROM record v WHERE v.id = q.via);

-- name: expedite_record
UPDATE record SET next_visit_at = $2 WHERE id = ANY($1::bigint[]);

-- name: record_change_history
UPDATE record r SET change_history = g.change_history FROM unnest($1::bytea[], $2::bigint[]) AS g (change_history, id) WHERE r.id = g.id;

-- name: stored_copy
SELECT id, fetched_at, status, kind, etag, last_modified, content_length, url_list, change_history, content_hash, fingerprint FROM stored_copy
WHERE id = ANY($1::bigint[]);

-- name: canonical_get
-- The newest page with this canonical URL, by its key.
SELECT r.id, h.origin || r.path AS url FROM record r JOIN host h ON h.id = r.host_id
WHERE r.canonical_key = $1 AND r.canonical = $2 AND r.content_id IS NOT NULL ORDER BY r.fetched_at DESC LIMIT 1;

-- name: visit_add
-- Visits of one record are a linked list from the newest back, so they need no index.
INSERT INTO visit (id, record_id, previous, at, detail)
SELECT g.id, g.record_id, (SELECT r.last_visit FROM record r WHERE r.id = g.earlier), g.at, g.detail
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[]) AS g (id, record_id, earlier, at, detail);

-- name: visits_get
WITH RECURSIVE history (id, previous, detail, age) AS (
    SELECT id, previous, detail, 1 FROM visit WHERE id = $1
    UNION ALL
    SELECT v.id, v.previous, v.detail, age + 1 FROM visit v JOIN history ON v.id = history.previous WHERE age < 1000
)
SELECT detail FROM history ORDER BY age DESC;

-- name: content_add
INSERT INTO content (id, at, page, body) SELECT * FROM unnest($1::bigint[], $2::float8[], $3::bytea[], $4::bytea[]);

-- name: link_put
INSERT INTO link (record_id, packed) SELECT * FROM unnest($1::bigint[], $2::bytea[])
ON CONFLICT (record_id) DO UPDATE SET packed = excluded.packed;

-- name: links_after
-- Of pages; with true as the second value, also of sitemaps and feeds.
SELECT h.origin || r.path, h.origin, l.packed, l.record_id, r.depth, coalesce(r.url_list, '')
FROM link l JOIN record r ON r.id = l.record_id JOIN host h ON h.id = r.host_id
WHERE l.record_id > $1 AND ($2::boolean OR coalesce(r.url_list, '') = '') ORDER BY l.record_id LIMIT $3;

-- name: cut_off_add
INSERT INTO cut_off AS c (record_id, name, count) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])
ON CONFLICT (record_id, name) DO UPDATE SET count = c.count + excluded.count;

-- name: cut_off_clear
-- For a list everything, for a page all but `max_sitemaps`, which counts sitemaps of its host's robots.txt.
DELETE FROM cut_off c USING unnest($1::bigint[], $2::boolean[]) AS g (record_id, is_list)
WHERE c.record_id = g.record_id AND (g.is_list OR c.name <> 'max_sitemaps');

-- name: cut_off_counts
SELECT name, sum(count)::bigint, count(*) FROM cut_off GROUP BY name;

-- name: cut_off_after
-- Pages with links cut off, with their stored links if any.
SELECT h.origin || r.path, h.origin, l.packed, r.id, r.depth, coalesce(r.url_list, ''), c.cut
FROM (SELECT record_id, json_object_agg(name, count)::text AS cut FROM cut_off WHERE record_id > $1
      GROUP BY record_id ORDER BY record_id LIMIT $2) c
JOIN record r ON r.id = c.record_id JOIN host h ON h.id = r.host_id LEFT JOIN link l ON l.record_id = r.id
ORDER BY r.id;

-- name: parked_counts
SELECT split_part(error_message, ':', 1), count(*) FROM record WHERE state = 'parked' GROUP BY 1;

-- name: redirects_settle
UPDATE record SET state = 'settled' WHERE id = ANY($1::bigint[]) AND state = 'parked' RETURNING id;

-- name: unpark
-- Queues the next tasks parked for one of these causes, by id; returns their queue rows.
UPDATE record SET state = 'waiting', attempt = 0, next_visit_at = $4
WHERE id IN (
    SELECT id FROM record
    WHERE state = 'parked' AND id > $1 AND split_part(error_message, ':', 1) = ANY($2::text[])
    ORDER BY id LIMIT $3 FOR UPDATE
)
RETURNING host_id, (3 - priority)::smallint, $4::bigint, key, path, depth, source, discovered_at, via, 0, id, chain,
          (CASE WHEN url_list IS NOT NULL THEN 16 END)::smallint;

-- name: refetch
-- Queues settled records for an unconditional request.
UPDATE record SET state = 'waiting', attempt = 0, next_visit_at = $2
WHERE id = ANY($1::bigint[]) AND state = 'settled'
RETURNING host_id, (3 - priority)::smallint, $2::bigint, key, path, depth, source, discovered_at, via, 0, id, chain,
          (CASE WHEN url_list IS NOT NULL THEN 24 ELSE 8 END)::smallint;

-- name: requeue_ended
-- Queues dead letters and parked tasks for an unconditional request; returns their queue rows, and their previous state
-- and cause.
WITH ended AS (
    SELECT id, state, error_message FROM record
    WHERE id = ANY($1::bigint[]) AND state IN ('dead', 'parked') ORDER BY id FOR UPDATE
)
UPDATE record r SET state = 'waiting', attempt = 0, next_visit_at = $2
FROM ended e WHERE r.id = e.id AND r.id = ANY($1::bigint[])
RETURNING r.host_id, (3 - r.priority)::smallint, $2::bigint, r.key, r.path, r.depth, r.source, r.discovered_at, r.via, 0,
          r.id, r.chain, (CASE WHEN r.url_list IS NOT NULL THEN 24 ELSE 8 END)::smallint, e.state, e.error_message;

-- name: states_get
-- An admitted URL without a record is waiting.
SELECT a.position, coalesce(r.state, 'waiting') AS state
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS a (origin, key, position)
JOIN host h ON h.origin = a.origin JOIN seen s ON s.host_id = h.id AND s.key = a.key
LEFT JOIN record r ON r.host_id = s.host_id AND r.key = s.key;

-- name: duplicate_index_find
-- The first pages of each key.
SELECT k.key, l.record_id FROM unnest($1::bigint[]) AS k (key)
CROSS JOIN LATERAL (SELECT record_id FROM duplicate_index WHERE key = k.key ORDER BY record_id LIMIT $2) l;

-- name: duplicate_index_add
INSERT INTO duplicate_index (key, record_id) SELECT * FROM unnest($1::bigint[], $2::bigint[]) ON CONFLICT DO NOTHING;

-- name: duplicate_index_remove
-- Two conditions, because a join might scan the whole index.
DELETE FROM duplicate_index WHERE key = ANY($1::bigint[]) AND record_id = ANY($2::bigint[]);

-- name: originals
SELECT r.id, (SELECT h.origin FROM host h WHERE h.id = r.host_id) || r.path, r.content_hash, r.fingerprint FROM record r
WHERE r.id = ANY($1::bigint[]) AND r.content_id IS NOT NULL AND r.duplicate_of IS NULL AND r.fingerprint IS NOT NULL;

-- name: events_after
SELECT o.seq, c.at, c.page, c.body FROM outbox o JOIN content c ON c.id = o.content_id
WHERE o.seq > $1 ORDER BY o.seq LIMIT $2;

-- name: events_last_seq
SELECT seq FROM outbox_end;

-- name: cursor_begin
INSERT INTO cursor (sink, seq, position) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING;

-- name: leader_lock_is_free
-- Released when the statement ends, so that checking takes the leadership from nobody.
SELECT pg_try_advisory_xact_lock($1);

-- name: leader_lock_take
-- Held until this session ends.
SELECT pg_try_advisory_lock($1);

-- name: budgets_lock
-- The usage of some budgets, locked until the transaction ends.
INSERT INTO budget AS b (host_id, key, used) SELECT host_id, key, 0 FROM unnest($1::bigint[], $2::bigint[]) AS g (host_id, key)
ON CONFLICT (host_id, key) DO UPDATE SET used = b.used RETURNING host_id, key, used;

-- name: budgets_put
UPDATE budget b SET used = g.used FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS g (host_id, key, used)
WHERE b.host_id = g.host_id AND b.key = g.key;

-- name: tally_add
INSERT INTO tally AS t (worker_id, name, count) SELECT $1, name, count FROM unnest($2::text[], $3::bigint[]) AS g (name, count)
ON CONFLICT (worker_id, name) DO UPDATE SET count = t.count + excluded.count;

-- name: refusals_clear
DELETE FROM tally WHERE name LIKE 'refusal:%';

-- name: tallies
SELECT name, sum(count)::bigint AS count FROM tally GROUP BY name;

-- name: tally_merge
WITH gone AS (DELETE FROM tally WHERE worker_id = ANY($1::bigint[]) RETURNING name, count)
INSERT INTO tally AS t (worker_id, name, count) SELECT 0, name, sum(count) FROM gone GROUP BY name ORDER BY name
ON CONFLICT (worker_id, name) DO UPDATE SET count = t.count + excluded.count;

-- name: meta_swap
-- Only if the value is as expected, NULL for absent; returns whether it was.
WITH changed AS (UPDATE meta SET value = $3::bytea WHERE name = $1::text AND value = $2::bytea RETURNING 1),
made AS (INSERT INTO meta (name, value) SELECT $1, $3 WHERE $2 IS NULL ON CONFLICT DO NOTHING RETURNING 1)
SELECT count(*) = 1 FROM (SELECT FROM changed UNION ALL SELECT FROM made) done;

-- name: due_task_counts
SELECT count(*) FILTER (WHERE due <= $1), count(*) FILTER (WHERE due <= $2), count(*) FILTER (WHERE due <= $3),
       count(*) FILTER (WHERE due <= $4), count(*) FROM queue;

-- name: queue_size
-- The approximate number of waiting tasks, without counting them.
SELECT reltuples::bigint FROM pg_class WHERE oid = 'queue'::regclass;

-- name: hosts_load
-- The hosts with the most waiting tasks, and how many tasks of all hosts may be claimed now. For a large queue a
-- sample of its pages is counted ({sample} percent).
WITH load AS (
    SELECT host_id, count(*) * (100.0 / {sample}) AS waiting,
           count(*) FILTER (WHERE due <= $2::float8 * 1000) * (100.0 / {sample}) AS due
    FROM queue {tablesample} GROUP BY host_id
), busiest AS (SELECT host_id, waiting FROM load ORDER BY waiting DESC, host_id LIMIT $1)
SELECT h.origin, h.state, r.copy, b.waiting::bigint AS waiting, first.due,
       (SELECT coalesce(sum(l.due), 0)::bigint FROM load l JOIN host lh ON lh.id = l.host_id AND lh.ready_at <= $2) AS due_now
FROM busiest b JOIN host h ON h.id = b.host_id LEFT JOIN robots r ON r.host_id = h.id
CROSS JOIN LATERAL (
    SELECT min(f.due) AS due FROM (VALUES (0::smallint), (1), (2), (3)) AS ranks (rank)
    CROSS JOIN LATERAL (SELECT due FROM queue WHERE host_id = h.id AND rank = ranks.rank ORDER BY due LIMIT 1) f
) first
ORDER BY b.waiting DESC, h.id;

-- name: hosts_next_claim
-- The stored time of a leased host is from when it was leased: its first task may be due later.
SELECT least((SELECT min(ready_at) FROM host WHERE has_work AND holder IS NULL),
             (SELECT min(greatest(h.ready_at, f.due / 1000.0)) FROM host h
              CROSS JOIN (VALUES (0::smallint), (1), (2), (3)) AS ranks (rank)
              CROSS JOIN LATERAL (SELECT due FROM queue WHERE host_id = h.id AND rank = ranks.rank ORDER BY due LIMIT 1) f
              WHERE h.holder IS NOT NULL));

-- name: pages
-- Stored pages after a given one, in the order they were first stored.
SELECT r.*, h.origin AS origin, c.page AS about, c.body AS body,
       (SELECT oh.origin || o.path FROM record o JOIN host oh ON oh.id = o.host_id WHERE o.id = r.duplicate_of) AS duplicate_url,
       (SELECT vh.origin || v.path FROM record v JOIN host vh ON vh.id = v.host_id WHERE v.id = r.via) AS via_url
FROM record r JOIN host h ON h.id = r.host_id LEFT JOIN content c ON c.id = r.content_id
WHERE r.id > $1 AND r.content_id IS NOT NULL
  AND ($2::text IS NULL OR h.origin ~ $2)
  AND ($3::integer IS NULL OR r.page_status = $3)
  AND ($4::text IS NULL OR r.kind = $4)
  AND ($5::text IS NULL OR r.language = $5 OR starts_with(r.language, $5 || '-'))
  AND ($6::text IS NULL OR h.origin || r.path ~ $6)
  AND ($7::float8 IS NULL OR r.fetched_at >= $7)
ORDER BY r.id LIMIT $8;

-- name: replay
-- Queues the next dead letters by id: all, or those with given URLs or with causes that begin with a given text;
-- returns their queue rows, and their previous state and cause.
UPDATE record SET state = 'waiting', attempt = 0
WHERE id IN (
    SELECT r.id FROM record r JOIN host h ON h.id = r.host_id
    WHERE r.state = 'dead' AND r.id > $1 AND ($2::text[] IS NULL OR h.origin || r.path = ANY($2))
      AND ($6::text IS NULL OR starts_with(r.error_message, $6))
    ORDER BY r.id LIMIT $3 FOR UPDATE OF r
)
RETURNING host_id, (3 - priority)::smallint, $4::bigint, key, path, depth, $5::smallint, discovered_at, via, 0, id, chain,
          (CASE WHEN url_list IS NOT NULL THEN 16 END)::smallint, 'dead' AS state, error_message;

-- name: requeue
-- Queues URLs that are dead, parked, or settled without a page; returns their queue rows, and their previous state
-- and cause. 8 in a hint: an unconditional request.
WITH named AS (
    SELECT r.id, r.state, r.error_message, g.depth, g.priority, g.source
    FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::smallint[], $5::smallint[])
        AS g (origin, key, depth, priority, source)
    CROSS JOIN LATERAL (SELECT id FROM host WHERE origin = g.origin LIMIT 1) h
    CROSS JOIN LATERAL (SELECT * FROM record WHERE host_id = h.id AND key = g.key LIMIT 1) r
    WHERE r.state IN ('dead', 'parked') OR (
        r.state = 'settled' AND r.content_id IS NULL AND coalesce(r.url_list, '') = '' AND r.error_message IS NOT NULL)
), locked AS (
    SELECT id FROM record WHERE id = ANY(ARRAY(SELECT id FROM named)) ORDER BY id FOR UPDATE
)
UPDATE record r SET state = 'waiting', attempt = 0, next_visit_at = $6, depth = n.depth, priority = n.priority,
    source = n.source
FROM named n WHERE r.id = ANY(ARRAY(SELECT id FROM locked)) AND r.id = n.id AND r.state = n.state
RETURNING r.host_id, (3 - r.priority)::smallint, $6::bigint, r.key, r.path, r.depth, r.source, r.discovered_at, r.via, 0,
          r.id, r.chain, 8::smallint, n.state, n.error_message;

-- name: requeue_settled_range
-- The last id of the next batch of records.
SELECT max(id) FROM (SELECT id FROM record WHERE id > $1 ORDER BY id LIMIT $2) part;

-- name: requeue_settled
-- Queues settled tasks in a range of ids that are worth another visit; returns their queue rows, in the order they
-- were found. Guesses (6, 7) that found nothing are skipped.
UPDATE record SET state = 'waiting', attempt = 0, next_visit_at = $3
WHERE id > $1 AND id <= $2 AND state = 'settled' AND last_visit_at <= $3
  AND (content_id IS NOT NULL OR url_list <> '' OR (http_status IN (404, 410) AND source NOT IN (6, 7)))
RETURNING host_id, (3 - priority)::smallint, discovered_at, key, path, depth, source, discovered_at, via, 0, id, chain,
          (CASE WHEN url_list IS NOT NULL THEN 16 END)::smallint;

-- name: now
SELECT extract(epoch FROM clock_timestamp())::float8;

-- name: last_worker_time
-- The latest time recorded by a worker; NULL while one is alive. A lease too far in the future does not count as alive.
SELECT max(greatest(started_at, ended_at, alive_until - dead_after_seconds)) FROM worker
HAVING NOT bool_or(ended_at IS NULL AND alive_until BETWEEN $1::float8 AND $1 + dead_after_seconds + $2::float8);

-- name: queue_shift_due
-- Scans the whole queue: only after the clock was set back.
UPDATE queue SET due = due - $2::bigint WHERE due > $1::bigint;

-- name: hosts_shift_ready
UPDATE host SET ready_at = ready_at - $2::float8 WHERE ready_at > $1::float8;

-- name: workers_shift_times
-- Workers that did not end count as dead at once.
UPDATE worker SET started_at = least(started_at, $1), ended_at = least(ended_at, $1), alive_until = least(alive_until, $1 - 1);

-- name: hosts_after
-- Hosts with a stored state.
SELECT h.id, h.origin, h.state, r.copy FROM host h LEFT JOIN robots r ON r.host_id = h.id
WHERE h.id > $1 AND h.state IS NOT NULL ORDER BY h.id LIMIT $2;
