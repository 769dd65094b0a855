-- Extracted metadata, and the index of originals for finding duplicates. Pages stored before are compared when they are
-- fetched again.
ALTER TABLE record ADD headline text, ADD authors text, ADD published text, ADD words integer, ADD duplicate_of bigint,
    ADD similarity float8, ADD fingerprint bytea;
UPDATE record SET kind = 'other' WHERE kind = 'page';
-- Originals by the hash of their text and by the bands of their fingerprints; a few per key.
CREATE TABLE duplicate_index (key bigint, record_id bigint, PRIMARY KEY (key, record_id));
COMMENT ON COLUMN content.body IS 'text, article, Markdown and links separated by NUL, deflated';
COMMENT ON COLUMN record.authors IS 'a JSON array';
COMMENT ON COLUMN record.duplicate_of IS 'record.id of the earliest page with the same or nearly the same text';
COMMENT ON COLUMN record.fingerprint IS 'for the similarity comparison; NULL when it was not compared';
CREATE OR REPLACE VIEW crawled_pages AS
    SELECT h.origin || r.path AS url, h.origin AS domain, r.status, r.http_status AS status_code, r.content_type,
           r.content_length, encode(r.content_hash, 'hex') AS content_hash, r.title, r.description, r.links_count,
           r.error_count, r.error_message, r.discovered_at / 1000.0 AS discovered_at,
           r.last_visit_at / 1000.0 AS crawled_at, r.next_visit_at / 1000.0 AS next_crawl_at,
           r.duration_ms AS crawl_duration_ms, r.fetched_at / 1000.0 AS fetched_at, r.etag, r.last_modified,
           r.stale_since / 1000.0 AS stale_since, r.stale_why,
           r.kind, r.headline, r.authors, r.published, r.words, r.language,
           (SELECT oh.origin || o.path FROM record o JOIN host oh ON oh.id = o.host_id WHERE o.id = r.duplicate_of)
               AS duplicate_of, r.similarity
    FROM record r JOIN host h ON h.id = r.host_id;
