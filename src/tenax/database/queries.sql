-- Statements that are the same in every backend. Parameters are numbered as in PostgreSQL.

-- name: link_get
SELECT l.packed FROM host h JOIN record r ON r.host_id = h.id JOIN link l ON l.record_id = r.id
WHERE h.origin = $1 AND r.key = $2;

-- name: redirects_after
SELECT r.id, h.origin || r.path, r.depth, r.error_message FROM record r JOIN host h ON h.id = r.host_id
WHERE r.state = 'parked' AND r.id > $1 AND r.error_message LIKE 'redirect:%' ORDER BY r.id LIMIT $2;

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
