-- The tables of a new database. Times are whole milliseconds since the epoch in tables that have a row per URL, seconds
-- elsewhere. `key` is 64 bits of the normalised URL, hashed with a secret of this database; the host stands in front of it.
-- No table refers to another by a foreign key: each check of one would lock a row that other workers write to.

CREATE TABLE meta (name text PRIMARY KEY, value bytea NOT NULL);
INSERT INTO meta (name, value) VALUES ('key_secret', uuid_send(gen_random_uuid()));

-- Record, visit and content draw their numbers from here, a block at a time, so that a worker knows them beforehand.
CREATE SEQUENCE number INCREMENT 4096;

-- One row for each database opened for writing. Whoever finds one past its time ends it and frees its hosts.
CREATE TABLE worker (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    started_at  float8 NOT NULL,
    alive_until float8 NOT NULL,
    dead_after_seconds    float8 NOT NULL,    -- how long after a heartbeat it counts as alive
    ended_at    float8,             -- from then on it may write nothing
    last_write  bigint NOT NULL DEFAULT 0,  -- its last transaction: tells whether one was written when the answer was lost
    hosts       integer             -- how many it holds, so that others see their share; NULL until it asks for some
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000);

-- Running counts, for each worker its own, so that commits never wait for each other; what those that ended counted is
-- added to worker 0.
CREATE TABLE tally (
    worker_id bigint, name text, count bigint NOT NULL, PRIMARY KEY (worker_id, name)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000);

CREATE TABLE host (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin   text NOT NULL UNIQUE,
    has_work boolean NOT NULL,      -- it may have tasks; true for as long as it is held
    holder   bigint,                -- the worker that visits it; nobody else does meanwhile
    ready_at  float8 NOT NULL,       -- while nobody holds it: worth a look from this time on
    state    bytea                  -- HostRecord as JSON, robots left out
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX host_free ON host (ready_at) WHERE has_work AND holder IS NULL;
CREATE INDEX host_leased ON host (holder) WHERE holder IS NOT NULL;
-- RobotsCopy as JSON; apart from its host, whose row is written at every visit.
CREATE TABLE robots (host_id bigint PRIMARY KEY, copy bytea NOT NULL);

-- Every URL ever admitted: the exact answer to "is it known?".
CREATE TABLE seen (host_id bigint, key bigint, PRIMARY KEY (host_id, key));

-- Waiting tasks in the order a host serves them. A row leaves only in the transaction that commits its visit, so the
-- death of a worker loses nothing: what it had claimed is simply still here.
CREATE TABLE queue (
    host_id   bigint,
    rank      smallint,             -- 3 - priority: the best first
    due       bigint,
    key       bigint,
    found     bigint NOT NULL,
    via       bigint,               -- record.id of the page it was found on
    record_id bigint,               -- when it has been visited before
    depth     integer NOT NULL,
    attempt   integer NOT NULL,
    source    smallint NOT NULL,
    hint      smallint,             -- how to visit it: its way, and whether to ask for the whole page; NULL for as usual
    path      text NOT NULL,
    chain     bytea,
    PRIMARY KEY (host_id, rank, due, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- One row for every URL that was visited at least once.
CREATE TABLE record (
    id             bigint PRIMARY KEY,
    host_id        bigint NOT NULL,
    key            bigint NOT NULL,
    via            bigint,
    discovered_at  bigint NOT NULL,
    last_visit_at  bigint NOT NULL,
    next_visit_at  bigint,
    last_visit     bigint NOT NULL,
    asked_at       bigint,          -- when the site was last asked and gave no page
    content_id     bigint,
    content_length bigint,
    fetched_at     bigint,          -- when the page was last known to be what the site has
    stale_since    bigint,          -- when asking for it again first failed
    duration_ms    bigint,          -- of the visit that brought the page
    http_status    integer,         -- of the last answer
    page_status    integer,
    depth          integer NOT NULL,
    error_count    integer NOT NULL DEFAULT 0,
    attempt        integer NOT NULL DEFAULT 0,
    links_count    integer,
    priority       smallint NOT NULL,
    source         smallint NOT NULL,
    path           text NOT NULL,
    state          text NOT NULL,   -- waiting, settled, dead
    status         text NOT NULL,   -- never_crawled, fetched, failed, blocked
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
    UNIQUE (host_id, key)
) WITH (fillfactor = 90);
CREATE INDEX record_dead ON record (id) WHERE state = 'dead';

CREATE TABLE visit (
    id bigint PRIMARY KEY, record_id bigint NOT NULL, previous bigint, at bigint NOT NULL, detail bytea NOT NULL
);

-- Every page as it was when it was stored. The texts come deflated: to try it again would be lost time.
CREATE TABLE content (
    id   bigint PRIMARY KEY,
    at   float8 NOT NULL,
    page bytea NOT NULL,            -- Page as JSON, text left out
    body bytea NOT NULL             -- the text, deflated
);
ALTER TABLE content ALTER page SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL;
ALTER TABLE visit ALTER detail SET STORAGE EXTERNAL;

-- The events, numbered in the order of their commits: whoever commits some takes their numbers from the one row of
-- `outbox_end` as its last step, and others who do wait for it. So no smaller number appears after a larger one.
CREATE TABLE outbox (seq bigint PRIMARY KEY, content_id bigint NOT NULL);
CREATE TABLE outbox_end (seq bigint NOT NULL) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000);
INSERT INTO outbox_end (seq) VALUES (0);
CREATE TABLE cursor (sink text PRIMARY KEY, seq bigint NOT NULL, position bigint NOT NULL);
CREATE TABLE budget (host_id bigint, key bigint, used bigint NOT NULL, PRIMARY KEY (host_id, key));

-- What came of earlier visits: the page, unless the last answer was that there is none.
CREATE VIEW stored_copy AS
    SELECT id, CASE WHEN http_status IN (404, 410) THEN asked_at ELSE fetched_at END AS fetched_at,
           CASE WHEN http_status IN (404, 410) THEN http_status ELSE page_status END AS status,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE kind END AS kind,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE etag END AS etag,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE last_modified END AS last_modified,
           CASE WHEN http_status IN (404, 410) THEN 0 ELSE content_length END AS content_length
    FROM record WHERE content_id IS NOT NULL OR http_status IN (404, 410);

-- For people who open the database: the frontier, the pages and the domains under the names they may expect.
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
           r.stale_since / 1000.0 AS stale_since, r.stale_why
    FROM record r JOIN host h ON h.id = r.host_id;
CREATE VIEW domains AS
    SELECT h.origin AS domain, convert_from(r.copy, 'UTF8')::json ->> 'text' AS robots_txt,
           (convert_from(r.copy, 'UTF8')::json ->> 'fetched_at')::float8 AS robots_fetched_at,
           coalesce((convert_from(h.state, 'UTF8')::json ->> 'crawl_delay_seconds')::float8, 1.0) AS crawl_delay,
           coalesce((convert_from(h.state, 'UTF8')::json ->> 'page_count')::bigint, 0) AS page_count,
           coalesce((convert_from(h.state, 'UTF8')::json ->> 'is_allowed')::boolean, true) AS is_allowed
    FROM host h LEFT JOIN robots r ON r.host_id = h.id;
