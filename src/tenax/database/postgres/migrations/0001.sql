-- The tables of a new database. Times are whole milliseconds since the epoch in tables that have a row per URL, seconds
-- elsewhere. `key` is a 64-bit hash of the normalized URL, salted with a secret of this database; it is unique only
-- with the host. There are no foreign keys: each check of one would lock a row that other workers write to.

CREATE TABLE meta (name text PRIMARY KEY, value bytea NOT NULL);
INSERT INTO meta (name, value) VALUES ('key_secret', uuid_send(gen_random_uuid()));

-- Ids of record, visit and content, in blocks, so that a worker knows them beforehand.
CREATE SEQUENCE number INCREMENT 4096;

-- One row for each process that writes. The first worker that finds one expired ends it and releases its hosts.
CREATE TABLE worker (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    started_at  float8 NOT NULL,
    alive_until float8 NOT NULL,
    dead_after_seconds float8 NOT NULL,  -- how long after a heartbeat it counts as alive
    ended_at    float8,             -- from then on it may write nothing
    last_write  bigint NOT NULL DEFAULT 0,  -- number of its last transaction: shows whether it was written when the answer was lost
    hosts       integer,            -- how many it leases, so that others know their share; NULL until it asks for some
    -- It cannot reach Redis, and announces it here: the others leave it its share of every rate limit.
    is_cut_off  boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000);

-- Counters per worker, so that commits never wait for each other; those of ended workers are added to worker 0.
CREATE TABLE tally (
    worker_id bigint, name text, count bigint NOT NULL, PRIMARY KEY (worker_id, name)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000);

CREATE TABLE host (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin   text NOT NULL UNIQUE,
    has_work boolean NOT NULL,      -- it may have tasks; true while it is leased
    holder   bigint,                -- the worker that leases it exclusively
    ready_at float8 NOT NULL,       -- while not leased: earliest time of a claim
    state    bytea                  -- HostRecord as JSON, without robots
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX host_free ON host (ready_at) WHERE has_work AND holder IS NULL;
CREATE INDEX host_leased ON host (holder) WHERE holder IS NOT NULL;
-- RobotsCopy as JSON; apart from the host, whose row is written at every visit.
CREATE TABLE robots (host_id bigint PRIMARY KEY, copy bytea NOT NULL);

-- Every URL ever admitted, for exact deduplication.
CREATE TABLE seen (host_id bigint, key bigint, PRIMARY KEY (host_id, key));

-- Waiting tasks in the order a host serves them. A row is deleted only in the transaction that commits its visit, so
-- the death of a worker loses nothing: its claimed tasks are still here.
CREATE TABLE queue (
    host_id   bigint,
    rank      smallint,             -- 3 - priority: best first
    due       bigint,
    key       bigint,
    found     bigint NOT NULL,
    via       bigint,               -- record.id of the page it was found on
    record_id bigint,               -- when it has been visited before
    depth     integer NOT NULL,
    attempt   integer NOT NULL,
    source    smallint NOT NULL,
    hint      smallint,             -- transport and request flags, see `rows.HINT_*`; NULL for a normal visit
    path      text NOT NULL,
    chain     bytea,
    PRIMARY KEY (host_id, rank, due, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- One row for each URL that was visited at least once.
CREATE TABLE record (
    id             bigint PRIMARY KEY,
    host_id        bigint NOT NULL,
    key            bigint NOT NULL,
    via            bigint,
    discovered_at  bigint NOT NULL,
    last_visit_at  bigint NOT NULL,
    next_visit_at  bigint,
    last_visit     bigint NOT NULL,
    asked_at       bigint,          -- last request that brought no page
    content_id     bigint,
    content_length bigint,
    fetched_at     bigint,          -- when the page was last fetched or confirmed
    stale_since    bigint,          -- when a refresh first failed
    duration_ms    bigint,          -- of the visit that stored the page
    http_status    integer,         -- of the last answer
    page_status    integer,
    depth          integer NOT NULL,
    error_count    integer NOT NULL DEFAULT 0,
    attempt        integer NOT NULL DEFAULT 0,
    links_count    integer,
    priority       smallint NOT NULL,
    source         smallint NOT NULL,
    path           text NOT NULL,
    state          text NOT NULL,
    status         text NOT NULL,
    error_message  text,
    content_type   text,
    content_hash   bytea,
    title          text,
    description    text,
    canonical      text,
    language       text,
    kind           text,
    charset        text,
    charset_source text,
    etag           text,
    last_modified  text,
    stale_why      text,
    chain          bytea,
    headline       text,
    authors        text,
    published      text,            -- ISO 8601
    words          integer,         -- of the article
    duplicate_of   bigint,
    similarity     float8,          -- to that page; 1 for the same text
    fingerprint    bytea,
    url_list       text,
    change_history bytea,
    validation_status text,
    rejection_reason  text,
    canonical_key  bigint,          -- of the canonical URL, when it is another URL of the same site
    UNIQUE (host_id, key)
) WITH (fillfactor = 90);
CREATE INDEX record_dead ON record (id) WHERE state = 'dead';
CREATE INDEX record_parked ON record (id) WHERE state = 'parked';
CREATE INDEX record_canonical ON record (canonical_key) WHERE canonical_key IS NOT NULL;
COMMENT ON COLUMN record.state IS 'waiting, settled, dead, parked';
COMMENT ON COLUMN record.status IS 'never_crawled, fetched, failed, blocked, rejected';
COMMENT ON COLUMN record.authors IS 'a JSON array';
COMMENT ON COLUMN record.duplicate_of IS 'record.id of the earliest page with the same or nearly the same text';
COMMENT ON COLUMN record.fingerprint IS 'for the similarity comparison; NULL when it was not compared';
COMMENT ON COLUMN record.url_list IS 'sitemap or feed, for a URL list instead of a page; empty when one is expected';
COMMENT ON COLUMN record.change_history IS 'ChangeHistory as JSON';
COMMENT ON COLUMN record.validation_status IS 'of the last answer: valid, soft, hard; NULL when not validated';
COMMENT ON COLUMN record.rejection_reason IS 'of the last answer; NULL when it was not rejected';

CREATE TABLE visit (
    id bigint PRIMARY KEY, record_id bigint NOT NULL, previous bigint, at bigint NOT NULL, detail bytea NOT NULL
);

-- Every stored version of a page. The texts are deflated already: compressing again would waste time.
CREATE TABLE content (
    id   bigint PRIMARY KEY,
    at   float8 NOT NULL,
    page bytea NOT NULL,            -- Page as JSON, without its texts
    body bytea NOT NULL
);
COMMENT ON COLUMN content.body IS 'text, article, Markdown and links separated by NUL, deflated';
ALTER TABLE content ALTER page SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL;
ALTER TABLE visit ALTER detail SET STORAGE EXTERNAL;

-- Originals by the hash of their text and by the bands of their fingerprints; a few per key.
CREATE TABLE duplicate_index (key bigint, record_id bigint, PRIMARY KEY (key, record_id));
-- The packed links of each page at its last fetch. They are deflated already.
CREATE TABLE link (record_id bigint PRIMARY KEY, packed bytea NOT NULL);
ALTER TABLE link ALTER packed SET STORAGE EXTERNAL;
-- Links cut off by limits: their number per page and limit.
CREATE TABLE cut_off (record_id bigint, name text, count bigint NOT NULL, PRIMARY KEY (record_id, name));

-- The events, numbered in commit order: a commit with events takes their numbers from the one row of `outbox_end` as
-- its last step, and others wait for it. So no smaller number appears after a larger one.
CREATE TABLE outbox (seq bigint PRIMARY KEY, content_id bigint NOT NULL);
CREATE TABLE outbox_end (seq bigint NOT NULL) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000);
INSERT INTO outbox_end (seq) VALUES (0);
CREATE TABLE cursor (sink text PRIMARY KEY, seq bigint NOT NULL, position bigint NOT NULL);
CREATE TABLE budget (host_id bigint, key bigint, used bigint NOT NULL, PRIMARY KEY (host_id, key));

-- The stored page, unless the last answer was 404 or 410.
CREATE VIEW stored_copy AS
    SELECT id, CASE WHEN http_status IN (404, 410) THEN asked_at ELSE fetched_at END AS fetched_at,
           CASE WHEN http_status IN (404, 410) THEN http_status ELSE coalesce(page_status, 200) END AS status,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE kind END AS kind,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE etag END AS etag,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE last_modified END AS last_modified,
           CASE WHEN http_status IN (404, 410) THEN 0 ELSE coalesce(content_length, 0) END AS content_length,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE url_list END AS url_list, change_history,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE content_hash END AS content_hash,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE fingerprint END AS fingerprint
    FROM record WHERE content_id IS NOT NULL OR url_list <> '' OR http_status IN (404, 410);

-- Views for users who open the database, under the usual names.
CREATE VIEW url_frontier AS
    SELECT h.origin || q.path AS url, h.origin AS domain, 3 - q.rank AS priority, q.depth,
           'pending' AS status, q.due / 1000.0 AS scheduled_at, q.found / 1000.0 AS created_at
    FROM queue q JOIN host h ON h.id = q.host_id;
CREATE VIEW crawled_pages AS
    SELECT h.origin || r.path AS url, h.origin AS domain, r.status, r.http_status AS status_code, r.content_type,
           r.content_length, encode(r.content_hash, 'hex') AS content_hash, r.title, r.description, r.links_count,
           r.error_count, r.error_message, r.discovered_at / 1000.0 AS discovered_at,
           r.last_visit_at / 1000.0 AS crawled_at, r.next_visit_at / 1000.0 AS next_crawl_at,
           r.duration_ms AS crawl_duration_ms, r.fetched_at / 1000.0 AS fetched_at, r.etag, r.last_modified,
           r.stale_since / 1000.0 AS stale_since, r.stale_why,
           r.kind, r.headline, r.authors, r.published, r.words, r.language,
           (SELECT oh.origin || o.path FROM record o JOIN host oh ON oh.id = o.host_id WHERE o.id = r.duplicate_of)
               AS duplicate_of, r.similarity, r.validation_status, r.rejection_reason
    FROM record r JOIN host h ON h.id = r.host_id;
CREATE VIEW domains AS
    SELECT h.origin AS domain, convert_from(r.copy, 'UTF8')::json ->> 'text' AS robots_txt,
           (convert_from(r.copy, 'UTF8')::json ->> 'fetched_at')::float8 AS robots_fetched_at,
           coalesce((convert_from(h.state, 'UTF8')::json ->> 'crawl_delay_seconds')::float8, 1.0) AS crawl_delay,
           coalesce((convert_from(h.state, 'UTF8')::json ->> 'page_count')::bigint, 0) AS page_count,
           coalesce((convert_from(h.state, 'UTF8')::json ->> 'is_allowed')::boolean, true) AS is_allowed
    FROM host h LEFT JOIN robots r ON r.host_id = h.id;
