-- The named statements of the SQLite database, besides those in `database/queries.sql`. Loaded by `schema.queries`.
--
-- Times are whole milliseconds since the epoch in tables that have a row per URL, seconds elsewhere.
-- `key` is a 64-bit hash of the normalized URL, salted with a secret of this database; it is unique only with the host.
-- Two URLs of one host share a key with probability 2^-64: any two of a million URLs with 1 in 37 million, of a hundred
-- million with 1 in 3700. Without the secret nobody can construct a collision, for example to hide a page.

-- name: create
-- The tables of a new database.
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('key_secret', randomblob(16));
CREATE TABLE tally (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE host (
    id      INTEGER PRIMARY KEY,
    origin  TEXT NOT NULL UNIQUE,
    waiting INTEGER NOT NULL DEFAULT 0,
    ready_at REAL NOT NULL DEFAULT 0,  -- earliest time of a claim: its rate limit, or its earliest due task
    state   BLOB,   -- HostRecord as JSON, without robots
    robots  BLOB    -- RobotsCopy as JSON; written only when it changes
);
CREATE INDEX host_ready ON host (ready_at) WHERE waiting > 0;
-- Every URL ever admitted, for exact deduplication. Small rows, clustered by host.
CREATE TABLE seen (host_id INTEGER, key INTEGER, PRIMARY KEY (host_id, key)) WITHOUT ROWID;
-- Waiting tasks in the order a host serves them. A row is deleted only in the transaction that commits its visit,
-- so a crash needs no repair: claimed tasks are still here.
CREATE TABLE queue (
    host_id   INTEGER,
    rank      INTEGER,  -- 3 - priority: best first
    due       INTEGER,
    key       INTEGER,
    path      TEXT NOT NULL,
    depth     INTEGER NOT NULL,
    source    INTEGER NOT NULL,
    found     INTEGER NOT NULL,
    via       INTEGER,  -- record.id of the page it was found on
    attempt   INTEGER NOT NULL,
    record_id INTEGER,  -- when it has been visited before
    chain     BLOB,
    hint      INTEGER,  -- transport and request flags, see `rows.HINT_*`; NULL for a normal visit
    PRIMARY KEY (host_id, rank, due, key)
) WITHOUT ROWID;
-- One row for each URL that was visited at least once.
CREATE TABLE record (
    id             INTEGER PRIMARY KEY,
    host_id        INTEGER NOT NULL,
    key            INTEGER NOT NULL,
    path           TEXT NOT NULL,
    state          TEXT NOT NULL,   -- waiting, settled, dead, parked
    status         TEXT NOT NULL,   -- never_crawled, fetched, failed, blocked, rejected
    http_status    INTEGER,         -- of the last answer
    depth          INTEGER NOT NULL,
    priority       INTEGER NOT NULL,
    source         INTEGER NOT NULL,
    via            INTEGER,
    discovered_at  INTEGER NOT NULL,
    last_visit_at  INTEGER NOT NULL,
    next_visit_at  INTEGER,
    error_count    INTEGER NOT NULL DEFAULT 0,
    error_message  TEXT,
    attempt        INTEGER NOT NULL DEFAULT 0,
    duration_ms    INTEGER,         -- of the visit that stored the page
    last_visit     INTEGER NOT NULL,
    asked_at       INTEGER,         -- last request that brought no page
    content_id     INTEGER,
    content_type   TEXT,
    content_length INTEGER,
    content_hash   BLOB,
    title          TEXT,
    description    TEXT,
    canonical      TEXT,
    language       TEXT,
    kind           TEXT,
    charset        TEXT,
    charset_source TEXT,
    links_count    INTEGER,
    fetched_at     INTEGER,         -- when the page was last fetched or confirmed
    page_status    INTEGER,
    etag           TEXT,
    last_modified  TEXT,
    stale_since    INTEGER,         -- when a refresh first failed
    stale_why      TEXT,
    chain          BLOB,
    headline       TEXT,
    authors        TEXT,            -- a JSON array
    published      TEXT,            -- ISO 8601
    words          INTEGER,         -- of the article
    duplicate_of   INTEGER,         -- record.id of the earliest page with the same or nearly the same text
    similarity     REAL,            -- to that page; 1 for the same text
    fingerprint    BLOB,            -- for the similarity comparison; NULL when it was not compared
    url_list       TEXT,            -- sitemap or feed, for a URL list instead of a page; '' when one is expected
    change_history BLOB,            -- ChangeHistory as JSON
    validation_status TEXT,         -- of the last answer: valid, soft, hard; NULL when not validated
    rejection_reason  TEXT,         -- of the last answer; NULL when it was not rejected
    canonical_key  INTEGER,         -- of the canonical URL, when it is another URL of the same site
    UNIQUE (host_id, key)
);
CREATE INDEX record_dead ON record (id) WHERE state = 'dead';
CREATE INDEX record_parked ON record (id) WHERE state = 'parked';
CREATE INDEX record_canonical ON record (canonical_key) WHERE canonical_key IS NOT NULL;
CREATE TABLE visit (id INTEGER PRIMARY KEY, record_id INTEGER NOT NULL, previous INTEGER, at INTEGER NOT NULL, detail BLOB NOT NULL);
-- Every stored version of a page in commit order: the contents, and the outbox. An event's number is its id.
CREATE TABLE content (
    id   INTEGER PRIMARY KEY,
    at   REAL NOT NULL,
    page BLOB NOT NULL,  -- Page as JSON, without its texts
    body BLOB NOT NULL   -- text, article, Markdown and links separated by NUL, deflated
);
-- Originals by the hash of their text and by the bands of their fingerprints; a few per key.
CREATE TABLE duplicate_index (key INTEGER, record_id INTEGER, PRIMARY KEY (key, record_id)) WITHOUT ROWID;
-- The packed links of each page at its last fetch. Apart from the page, which is read without them.
CREATE TABLE link (record_id INTEGER PRIMARY KEY, packed BLOB NOT NULL);
-- Links cut off by limits: their number per page and limit. See `model.results`.
CREATE TABLE cut_off (
    record_id INTEGER, name TEXT, count INTEGER NOT NULL, PRIMARY KEY (record_id, name)
) WITHOUT ROWID;
CREATE TABLE cursor (sink TEXT PRIMARY KEY, seq INTEGER NOT NULL, position INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE budget (host_id INTEGER, key INTEGER, used INTEGER NOT NULL, PRIMARY KEY (host_id, key)) WITHOUT ROWID;

-- Views for users who open the file, under the usual names.
CREATE VIEW url_frontier AS
    SELECT h.origin || q.path AS url, h.origin AS domain, 3 - q.rank AS priority, q.depth,
           'pending' AS status, q.due / 1000.0 AS scheduled_at, q.found / 1000.0 AS created_at
    FROM queue q JOIN host h ON h.id = q.host_id;
CREATE VIEW crawled_pages AS
    SELECT h.origin || r.path AS url, h.origin AS domain, r.status, r.http_status AS status_code, r.content_type,
           r.content_length, nullif(lower(hex(r.content_hash)), '') AS content_hash, r.title, r.description, r.links_count,
           r.error_count, r.error_message, r.discovered_at / 1000.0 AS discovered_at,
           r.last_visit_at / 1000.0 AS crawled_at, r.next_visit_at / 1000.0 AS next_crawl_at,
           r.duration_ms AS crawl_duration_ms, r.fetched_at / 1000.0 AS fetched_at, r.etag, r.last_modified,
           r.stale_since / 1000.0 AS stale_since, r.stale_why,
           r.kind, r.headline, r.authors, r.published, r.words, r.language,
           (SELECT oh.origin || o.path FROM record o JOIN host oh ON oh.id = o.host_id WHERE o.id = r.duplicate_of)
               AS duplicate_of, r.similarity, r.validation_status, r.rejection_reason
    FROM record r JOIN host h ON h.id = r.host_id;
CREATE VIEW domains AS
    SELECT origin AS domain, json_extract(robots, '$.text') AS robots_txt,
           json_extract(robots, '$.fetched_at') AS robots_fetched_at,
           coalesce(json_extract(state, '$.crawl_delay_seconds'), 1.0) AS crawl_delay,
           coalesce(json_extract(state, '$.page_count'), 0) AS page_count,
           coalesce(json_extract(state, '$.is_allowed'), 1) AS is_allowed
    FROM host;

-- name: host_by_origin
SELECT id, origin, waiting, ready_at, state, robots FROM host WHERE origin = ?;

-- name: host_id
-- Index-only.
SELECT id FROM host WHERE origin = ?;

-- name: host_insert
INSERT INTO host (origin) VALUES (?) RETURNING id;

-- name: host_update
-- After a visit; NULL keeps robots.
UPDATE host SET waiting = waiting + ?, ready_at = ?, state = ?, robots = coalesce(?, robots) WHERE id = ?;

-- name: host_add_waiting
UPDATE host SET waiting = waiting + ?, ready_at = min(ready_at, ?) WHERE id = ?;

-- name: host_postpone
-- No task is due before this time.
UPDATE host SET ready_at = max(ready_at, ?) WHERE id = ?;

-- name: hosts_shift_ready
UPDATE host SET ready_at = ready_at - :ahead WHERE ready_at > :now;

-- name: hosts_after
-- Hosts with a stored state.
SELECT id, origin, state, robots FROM host WHERE id > ? AND state IS NOT NULL ORDER BY id LIMIT ?;

-- name: host_replace_state
UPDATE host SET state = ?, robots = coalesce(?, robots) WHERE id = ?;

-- name: hosts_with_work
-- The hosts that have been ready longest; index-only.
SELECT id, ready_at FROM host WHERE waiting > 0 ORDER BY ready_at LIMIT ?;

-- name: host_by_id
SELECT origin, state, robots FROM host WHERE id = ?;

-- name: seen_add
-- Returns only new ones.
INSERT OR IGNORE INTO seen (host_id, key) VALUES (?, ?) RETURNING host_id, key;

-- name: seen_has
SELECT 1 FROM seen WHERE host_id = ? AND key = ?;

-- name: seen_forget
DELETE FROM seen WHERE host_id = ? AND key = ?;

-- name: queue_add
INSERT OR IGNORE INTO queue (host_id, rank, due, key, path, depth, source, found, via, attempt, record_id, chain, hint)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: queue_remove
-- Takes a JSON array of (host_id, rank, due, key). As an IN (VALUES …) it would scan the whole queue.
DELETE FROM queue WHERE (host_id, rank, due, key) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(?)
);

-- name: queue_due
-- The next tasks of one host and rank. The last column is the stored copy, filled in later.
SELECT rank, due, key, path, depth, source, found, via, attempt, record_id, chain, hint,
       (SELECT h.origin || r.path FROM record r JOIN host h ON h.id = r.host_id WHERE r.id = queue.via),
       NULL
FROM queue WHERE host_id = ? AND rank = ? AND due <= ? ORDER BY due, key LIMIT ?;

-- name: waiting_after
-- A batch of waiting tasks of all hosts, in primary key order.
SELECT q.host_id, q.rank, q.due, q.key, h.origin || q.path, q.source
FROM queue q CROSS JOIN host h ON h.id = q.host_id
WHERE (q.host_id, q.rank, q.due, q.key) > (?, ?, ?, ?) ORDER BY q.host_id, q.rank, q.due, q.key LIMIT ?;

-- name: queue_rank
-- Takes a JSON array of (host_id, rank, due, key, new rank).
UPDATE queue SET rank = g.better
FROM (SELECT json_extract(value, '$[0]') AS host_id, json_extract(value, '$[1]') AS rank,
             json_extract(value, '$[2]') AS due, json_extract(value, '$[3]') AS key,
             json_extract(value, '$[4]') AS better FROM json_each(?)) AS g
WHERE queue.host_id = g.host_id AND queue.rank = g.rank AND queue.due = g.due AND queue.key = g.key;

-- name: queue_move
WITH move (due, host_id, rank, was_due, key) AS (VALUES (?, ?, ?, ?, ?))
UPDATE queue SET due = move.due FROM move
WHERE queue.host_id = move.host_id AND queue.rank = move.rank AND queue.due = move.was_due AND queue.key = move.key
RETURNING host_id, rank, due, key, path, depth, source, found, via, attempt, record_id, chain, hint,
          (SELECT h.origin || r.path FROM record r JOIN host h ON h.id = r.host_id WHERE r.id = queue.via);

-- name: queue_next_due
SELECT due FROM queue WHERE host_id = ? AND rank = ? ORDER BY due LIMIT 1;

-- name: queue_next_due_after
SELECT due FROM queue WHERE host_id = ? AND rank = ? AND due > ? ORDER BY due LIMIT 1;

-- name: queue_shift_due
-- Scans the whole queue: only after the wall clock was set back.
UPDATE queue SET due = due - :ahead_ms WHERE due > :now_ms;

-- name: queue_find
SELECT rank, due, key, path, depth, source, found, via, attempt, record_id, chain, hint
FROM queue WHERE host_id = ? AND key = ?;

-- name: record_put_values
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: record_put_page_values
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: record_confirm
-- The site confirmed the stored page or list: id, state, time, next time, attempt, visit, validators.
UPDATE record SET
    state = ?2, status = 'fetched', http_status = coalesce(page_status, 200), last_visit_at = ?3, next_visit_at = ?4, error_count = 0,
    error_message = NULL, attempt = ?5, last_visit = ?6, fetched_at = ?3, etag = coalesce(?7, etag),
    last_modified = coalesce(?8, last_modified), stale_since = NULL, stale_why = NULL,
    validation_status = CASE WHEN rejection_reason IS NULL THEN validation_status END, rejection_reason = NULL
WHERE id = ?1;

-- name: stored_pages
-- The stored versions of some pages. Takes a JSON array of record ids.
SELECT id, content_id, fetched_at, fingerprint, duplicate_of,
       kind, content_hash, title, description, canonical, language, page_status, headline, authors, published, words
FROM record WHERE id IN (SELECT value FROM json_each(?)) AND content_id IS NOT NULL;

-- name: record_url_list
UPDATE record SET url_list = ?, fetched_at = ?, etag = ?, last_modified = ? WHERE id = ?;

-- name: record_missing_url_list
-- A URL list is expected there.
UPDATE record SET url_list = '' WHERE id = ? AND url_list IS NULL;

-- name: expedite_find
-- A page with a scheduled recrawl that was last visited before a given time.
SELECT id, next_visit_at, change_history FROM record
WHERE host_id = ? AND key = ? AND state = 'waiting' AND next_visit_at > ? AND last_visit_at < ?;

-- name: expedite_queue
-- 32 in a hint: a change was announced. The rank may differ from the record's by now.
UPDATE queue SET due = ?, hint = coalesce(hint, 0) | 32 WHERE host_id = ? AND rank IN (0, 1, 2, 3) AND due = ? AND key = ?
RETURNING rank, due, key, path, depth, source, found, via, attempt, record_id, chain, hint,
          (SELECT h.origin || r.path FROM record r JOIN host h ON h.id = r.host_id WHERE r.id = queue.via);

-- name: expedite_record
UPDATE record SET next_visit_at = ? WHERE id = ?;

-- name: record_change_history
UPDATE record SET change_history = ? WHERE id = ?;

-- name: stored_copy
-- The stored page or list, unless the last answer was 404 or 410.
SELECT fetched_at, coalesce(page_status, 200), kind, etag, last_modified, coalesce(content_length, 0), url_list, change_history,
       content_hash, fingerprint
FROM record
WHERE id = :id AND (content_id IS NOT NULL OR url_list <> '') AND coalesce(http_status, 0) NOT IN (404, 410)
UNION ALL
SELECT asked_at, http_status, NULL, NULL, NULL, 0, NULL, change_history, NULL, NULL FROM record
WHERE id = :id AND http_status IN (404, 410);

-- name: canonical_get
-- The newest page with this canonical URL, by its key.
SELECT r.id, h.origin || r.path FROM record r JOIN host h ON h.id = r.host_id
WHERE r.canonical_key = ? AND r.canonical = ? AND r.content_id IS NOT NULL ORDER BY r.fetched_at DESC LIMIT 1;

-- name: visit_add
-- Visits of one record are a linked list from the newest back, so they need no index.
INSERT INTO visit (id, record_id, previous, at, detail)
VALUES (?, ?, (SELECT last_visit FROM record WHERE id = ?), ?, ?);

-- name: visits_get
WITH RECURSIVE history (id, previous, at, detail, n) AS (
    SELECT id, previous, at, detail, 1 FROM visit WHERE id = ?
    UNION ALL
    SELECT v.id, v.previous, v.at, v.detail, n + 1 FROM visit v JOIN history ON v.id = history.previous WHERE n < 1000
)
SELECT at, detail FROM history ORDER BY id;

-- name: content_add
INSERT INTO content (id, at, page, body) VALUES (?, ?, ?, ?);

-- name: link_put
INSERT INTO link (record_id, packed) VALUES (?, ?) ON CONFLICT (record_id) DO UPDATE SET packed = excluded.packed;

-- name: links_after
-- Of pages; with 1 as the second value, also of sitemaps and feeds.
SELECT h.origin || r.path, h.origin, l.packed, l.record_id, r.depth, coalesce(r.url_list, '')
FROM link l CROSS JOIN record r ON r.id = l.record_id CROSS JOIN host h ON h.id = r.host_id
WHERE l.record_id > ? AND (? OR coalesce(r.url_list, '') = '') ORDER BY l.record_id LIMIT ?;

-- name: cut_off_add
INSERT INTO cut_off (record_id, name, count) VALUES (?, ?, ?)
ON CONFLICT (record_id, name) DO UPDATE SET count = count + excluded.count;

-- name: cut_off_clear
-- For a list everything, for a page all but `max_sitemaps`, which counts sitemaps of its host's robots.txt.
DELETE FROM cut_off WHERE record_id = ? AND (? OR name <> 'max_sitemaps');

-- name: cut_off_counts
SELECT name, sum(count), count(*) FROM cut_off GROUP BY name;

-- name: cut_off_after
-- Pages with links cut off, with their stored links if any.
SELECT h.origin || r.path, h.origin, l.packed, r.id, r.depth, coalesce(r.url_list, ''), c.cut
FROM (SELECT record_id, json_group_object(name, count) AS cut FROM cut_off WHERE record_id > ?
      GROUP BY record_id ORDER BY record_id LIMIT ?) c
JOIN record r ON r.id = c.record_id JOIN host h ON h.id = r.host_id LEFT JOIN link l ON l.record_id = r.id
ORDER BY r.id;

-- name: parked_counts
SELECT substr(error_message, 1, instr(error_message || ':', ':') - 1), count(*) FROM record WHERE state = 'parked' GROUP BY 1;

-- name: redirects_settle
UPDATE record SET state = 'settled' WHERE id IN (SELECT value FROM json_each(?)) AND state = 'parked';

-- name: unpark
-- Queues a batch of the tasks parked for one of these causes; returns their queue rows.
UPDATE record SET state = 'waiting', attempt = 0, next_visit_at = :now_ms
WHERE id IN (
    SELECT id FROM record WHERE state = 'parked'
      AND substr(error_message, 1, instr(error_message || ':', ':') - 1) IN (SELECT value FROM json_each(:causes))
    ORDER BY id LIMIT :most)
RETURNING host_id, 3 - priority, :now_ms, key, path, depth, source, discovered_at, via, 0, id, chain,
          CASE WHEN url_list IS NOT NULL THEN 16 END;

-- name: refetch
-- Queues settled records, by a JSON array of ids, for an unconditional request.
UPDATE record SET state = 'waiting', attempt = 0, next_visit_at = :now_ms
WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'settled'
RETURNING host_id, 3 - priority, :now_ms, key, path, depth, source, discovered_at, via, 0, id, chain,
          CASE WHEN url_list IS NOT NULL THEN 24 ELSE 8 END;

-- name: ended_get
-- The states and causes of dead letters and parked tasks, by a JSON array of ids.
SELECT id, state, error_message FROM record WHERE id IN (SELECT value FROM json_each(?)) AND state IN ('dead', 'parked');

-- name: requeue_ended
-- Queues records, by a JSON array of ids, for an unconditional request.
UPDATE record SET state = 'waiting', attempt = 0, next_visit_at = :now_ms
WHERE id IN (SELECT value FROM json_each(:ids)) AND state IN ('dead', 'parked')
RETURNING host_id, 3 - priority, :now_ms, key, path, depth, source, discovered_at, via, 0, id, chain,
          CASE WHEN url_list IS NOT NULL THEN 24 ELSE 8 END;

-- name: states_get
-- Takes a JSON array of (origin, key). An admitted URL without a record is waiting.
SELECT a.key, coalesce(r.state, 'waiting')
FROM json_each(?) a CROSS JOIN host h ON h.origin = json_extract(a.value, '$[0]')
CROSS JOIN seen s ON s.host_id = h.id AND s.key = json_extract(a.value, '$[1]')
LEFT JOIN record r ON r.host_id = s.host_id AND r.key = s.key;

-- name: duplicate_index_find
-- Takes any number of keys.
SELECT key, record_id FROM duplicate_index WHERE key IN (?);

-- name: duplicate_index_add
INSERT OR IGNORE INTO duplicate_index (key, record_id) VALUES (?, ?);

-- name: duplicate_index_remove
DELETE FROM duplicate_index WHERE key = ? AND record_id = ?;

-- name: duplicate_index_backups
-- Backups of buffered rows, packed, several values under these names.
SELECT value FROM meta WHERE name >= 'duplicate_index buffer ' AND name < 'duplicate_index buffer!';

-- name: duplicate_index_clear_backups
DELETE FROM meta WHERE name >= 'duplicate_index buffer ' AND name < 'duplicate_index buffer!';

-- name: originals
-- Takes a JSON array of record ids.
SELECT r.id, h.origin || r.path, r.content_hash, r.fingerprint FROM record r JOIN host h ON h.id = r.host_id
WHERE r.id IN (SELECT value FROM json_each(?))
  AND r.content_id IS NOT NULL AND r.duplicate_of IS NULL AND r.fingerprint IS NOT NULL;

-- name: events_after
SELECT id, at, page, body FROM content WHERE id > ? ORDER BY id LIMIT ?;

-- name: cursor_begin
INSERT OR IGNORE INTO cursor (sink, seq, position) VALUES (?, 0, 0);

-- name: budget_used
SELECT used FROM budget WHERE host_id = ? AND key = ?;

-- name: budget_put
INSERT INTO budget (host_id, key, used) VALUES (?, ?, ?) ON CONFLICT (host_id, key) DO UPDATE SET used = excluded.used;

-- name: tally_add
INSERT INTO tally (name, count) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count;

-- name: refusals_clear
DELETE FROM tally WHERE name >= 'refusal:' AND name < 'refusal;';

-- name: tallies
SELECT name, count FROM tally;

-- name: meta_swap
UPDATE meta SET value = :value WHERE name = :name AND value = :was;

-- name: highest_ids
SELECT coalesce((SELECT max(id) FROM record), 0), coalesce((SELECT max(id) FROM visit), 0),
       max(coalesce((SELECT max(id) FROM content), 0), coalesce((SELECT max(seq) FROM cursor), 0));

-- name: due_task_counts
SELECT sum(due <= ?), sum(due <= ?), sum(due <= ?), sum(due <= ?), count(*) FROM queue;

-- name: hosts_count
SELECT count(*) FROM host;

-- name: hosts_busiest
SELECT id, origin, waiting, ready_at, state, robots FROM host WHERE waiting > 0 ORDER BY waiting DESC LIMIT ?;

-- name: hosts_due
-- Hosts with a due task: a host may be ready long before its next scheduled recrawl.
SELECT count(*), coalesce(sum(waiting), 0) FROM host h WHERE waiting > 0 AND ready_at <= :now
  AND EXISTS (SELECT 1 FROM (SELECT 0 AS rank UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) ranks
              WHERE EXISTS (SELECT 1 FROM queue q WHERE q.host_id = h.id AND q.rank = ranks.rank AND q.due <= :now_ms));

-- name: hosts_next_claim
-- The earliest due task of the first hosts to be ready.
SELECT min(max(h.ready_at, first.due / 1000.0))
FROM (SELECT id, ready_at FROM host WHERE waiting > 0 ORDER BY ready_at LIMIT 1000) h
JOIN (SELECT host_id, min(due) AS due FROM (
    SELECT host_id, (SELECT due FROM queue q WHERE q.host_id = hosts.host_id AND q.rank = ranks.rank ORDER BY due LIMIT 1) AS due
    FROM (SELECT id AS host_id FROM host WHERE waiting > 0 ORDER BY ready_at LIMIT 1000) hosts,
         (SELECT 0 AS rank UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) ranks
) GROUP BY host_id) first ON first.host_id = h.id;

-- name: pages
-- Stored pages after a given one, in the order they were first stored.
SELECT r.*, h.origin AS origin, c.page AS about, c.body AS body,
       (SELECT oh.origin || o.path FROM record o JOIN host oh ON oh.id = o.host_id WHERE o.id = r.duplicate_of) AS duplicate_url,
       (SELECT vh.origin || v.path FROM record v JOIN host vh ON vh.id = v.host_id WHERE v.id = r.via) AS via_url
FROM record r JOIN host h ON h.id = r.host_id LEFT JOIN content c ON c.id = r.content_id
WHERE r.id > :after AND r.content_id IS NOT NULL
  AND (:host IS NULL OR h.origin = :host OR h.origin GLOB '*://' || :host OR h.origin GLOB '*://' || :host || ':*')
  AND (:status IS NULL OR r.page_status = :status)
  AND (:kind IS NULL OR r.kind = :kind)
  AND (:language IS NULL OR r.language = :language OR r.language GLOB :language || '-*')
  AND (:url_glob IS NULL OR h.origin || r.path GLOB :url_glob)
  AND (:since IS NULL OR r.fetched_at >= :since)
ORDER BY r.id LIMIT :limit;

-- name: replay
UPDATE record SET state = 'waiting', attempt = 0 WHERE id = ?;

-- name: requeue_find
-- A URL that is dead, parked, or settled without a page.
SELECT r.*, h.origin AS origin FROM host h JOIN record r ON r.host_id = h.id
WHERE h.origin = ? AND r.key = ? AND (r.state IN ('dead', 'parked') OR (
    r.state = 'settled' AND r.content_id IS NULL AND coalesce(r.url_list, '') = '' AND r.error_message IS NOT NULL));

-- name: requeue
UPDATE record SET state = 'waiting', attempt = 0, next_visit_at = ?, depth = ?, priority = ?, source = ? WHERE id = ?;

-- name: requeue_settled
-- Queues settled tasks in a range of ids that are worth another visit; returns their queue rows, in the order they
-- were found. Guesses (6, 7) that found nothing are skipped.
UPDATE record SET state = 'waiting', attempt = 0, next_visit_at = :now_ms
WHERE id > :above AND id <= :up_to AND state = 'settled' AND last_visit_at <= :now_ms
  AND (content_id IS NOT NULL OR url_list <> '' OR (http_status IN (404, 410) AND source NOT IN (6, 7)))
RETURNING host_id, 3 - priority, discovered_at, key, path, depth, source, discovered_at, via, 0, id, chain,
          CASE WHEN url_list IS NOT NULL THEN 16 END;
