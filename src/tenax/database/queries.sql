-- Statements that are the same in every backend. Parameters are numbered as in PostgreSQL.

-- name: link_get
SELECT l.packed FROM host h JOIN record r ON r.host_id = h.id JOIN link l ON l.record_id = r.id
WHERE h.origin = $1 AND r.key = $2;

-- name: redirects_after
SELECT r.id, h.origin || r.path, r.depth, r.error_message FROM record r JOIN host h ON h.id = r.host_id
WHERE r.state = 'parked' AND r.id > $1 AND r.error_message LIKE 'redirect:%' ORDER BY r.id LIMIT $2;

-- name: ended_by_settings_after
-- Dead letters and parked tasks whose causes end with conditions for another visit, by id.
SELECT r.id, h.origin || r.path, r.error_message FROM (
    SELECT id, host_id, path, error_message FROM record
    WHERE state = 'dead' AND id > $1 AND error_message LIKE '% [%.%]'
    UNION ALL
    SELECT id, host_id, path, error_message FROM record
    WHERE state = 'parked' AND id > $1 AND error_message LIKE '% [%.%]'
    ORDER BY id LIMIT $2
) r JOIN host h ON h.id = r.host_id ORDER BY r.id;

-- name: cursor_get
SELECT seq, position FROM cursor WHERE sink = $1;

-- name: cursor_put
-- Never moves back: for a moment two processes may believe that they lead.
INSERT INTO cursor (sink, seq, position) VALUES ($1, $2, $3)
ON CONFLICT (sink) DO UPDATE SET seq = excluded.seq, position = excluded.position WHERE cursor.seq <= excluded.seq;

-- name: meta_get
SELECT value FROM meta WHERE name = $1;

-- name: meta_put
INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: meta_begin
INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: record_get
SELECT r.*, h.origin AS origin FROM record r JOIN host h ON h.id = r.host_id WHERE r.host_id = $1 AND r.key = $2;

-- name: record_url
SELECT h.origin || r.path FROM record r JOIN host h ON h.id = r.host_id WHERE r.id = $1;

-- name: content_get
SELECT page, body FROM content WHERE id = $1;

-- name: due_tasks
-- The first tasks of all hosts, with the details of their last visits.
SELECT h.origin || q.path, q.due, q.rank, q.source,
       (SELECT v.detail FROM record r JOIN visit v ON v.id = r.last_visit WHERE r.id = q.record_id)
FROM (SELECT * FROM queue ORDER BY due, host_id, rank, key LIMIT $1) q JOIN host h ON h.id = q.host_id
ORDER BY q.due, h.id, q.rank, q.key;

-- name: dead_letters
SELECT r.*, h.origin AS origin,
       (SELECT vh.origin || v.path FROM record v JOIN host vh ON vh.id = v.host_id WHERE v.id = r.via) AS via_url
FROM record r JOIN host h ON h.id = r.host_id WHERE r.state = 'dead' AND r.id > $1 ORDER BY r.id LIMIT $2;

-- name: cursors
SELECT sink, seq, position FROM cursor;

-- name: round_begin
UPDATE tally SET count = 0 WHERE name = 'pages_this_round';

-- name: record_put
-- A visit without a page. A stored page is kept, marked as stale when it was requested; a visit without a request
-- (asked_at is NULL) keeps the last answer.
INSERT INTO record AS r (id, host_id, key, path, state, status, http_status, depth, priority, source, via, discovered_at,
                         last_visit_at, next_visit_at, error_count, error_message, attempt, duration_ms, last_visit, chain,
                         asked_at, stale_why, validation_status, rejection_reason)
{record_put_values}
ON CONFLICT (id) DO UPDATE SET
    state = excluded.state,
    status = CASE WHEN excluded.asked_at IS NULL AND excluded.status <> 'blocked' THEN r.status ELSE excluded.status END,
    http_status = CASE WHEN excluded.asked_at IS NULL THEN r.http_status ELSE excluded.http_status END,
    validation_status = CASE WHEN excluded.asked_at IS NULL THEN r.validation_status ELSE excluded.validation_status END,
    rejection_reason = CASE WHEN excluded.asked_at IS NULL THEN r.rejection_reason ELSE excluded.rejection_reason END,
    last_visit_at = excluded.last_visit_at, next_visit_at = excluded.next_visit_at,
    error_count = CASE WHEN excluded.asked_at IS NULL THEN r.error_count
                       WHEN excluded.error_count = 0 THEN 0 ELSE r.error_count + 1 END,
    error_message = CASE WHEN excluded.asked_at IS NULL THEN coalesce(excluded.error_message, r.error_message)
                         ELSE excluded.error_message END,
    attempt = excluded.attempt,
    duration_ms = CASE WHEN r.content_id IS NULL THEN excluded.duration_ms ELSE r.duration_ms END,
    last_visit = excluded.last_visit, asked_at = coalesce(excluded.asked_at, r.asked_at),
    stale_since = CASE WHEN excluded.asked_at IS NULL OR r.content_id IS NULL THEN r.stale_since
                       ELSE coalesce(r.stale_since, excluded.asked_at) END,
    stale_why = CASE WHEN excluded.asked_at IS NULL OR r.content_id IS NULL THEN r.stale_why ELSE excluded.stale_why END;

-- name: record_put_page
-- A visit with a page.
INSERT INTO record (id, host_id, key, path, state, status, http_status, depth, priority, source, via, discovered_at,
                    last_visit_at, next_visit_at, attempt, duration_ms, last_visit, chain,
                    content_id, content_type, content_length, content_hash, title, description, canonical, language,
                    kind, charset, charset_source, links_count, fetched_at, page_status, etag, last_modified,
                    headline, authors, published, words, duplicate_of, similarity, fingerprint, validation_status, canonical_key)
{record_put_page_values}
ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, status = excluded.status, http_status = excluded.http_status,
    last_visit_at = excluded.last_visit_at, next_visit_at = excluded.next_visit_at, error_count = 0,
    error_message = NULL, attempt = excluded.attempt, duration_ms = excluded.duration_ms,
    last_visit = excluded.last_visit, chain = excluded.chain, content_id = excluded.content_id,
    content_type = excluded.content_type, content_length = excluded.content_length,
    content_hash = excluded.content_hash, title = excluded.title, description = excluded.description,
    canonical = excluded.canonical, language = excluded.language, kind = excluded.kind, charset = excluded.charset,
    charset_source = excluded.charset_source, links_count = excluded.links_count, fetched_at = excluded.fetched_at,
    page_status = excluded.page_status, etag = excluded.etag, last_modified = excluded.last_modified,
    headline = excluded.headline, authors = excluded.authors, published = excluded.published, words = excluded.words,
    duplicate_of = excluded.duplicate_of, similarity = excluded.similarity, fingerprint = excluded.fingerprint,
    validation_status = excluded.validation_status, rejection_reason = NULL, canonical_key = excluded.canonical_key,
    url_list = NULL, stale_since = NULL, stale_why = NULL;
