-- URL lists, change histories, links, validation.
ALTER TABLE record ADD url_list text, ADD change_history bytea;
COMMENT ON COLUMN record.url_list IS 'sitemap or feed, for a URL list instead of a page; empty when one is expected';
COMMENT ON COLUMN record.change_history IS 'ChangeHistory as JSON';
CREATE OR REPLACE VIEW stored_copy AS
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
-- The packed links of each page at its last fetch. They are deflated already.
CREATE TABLE link (record_id bigint PRIMARY KEY, packed bytea NOT NULL);
ALTER TABLE link ALTER packed SET STORAGE EXTERNAL;
-- The validation of the last answer, and the canonical URL when it is another URL of the same site.
ALTER TABLE record ADD validation_status text, ADD rejection_reason text, ADD canonical_key bigint;
CREATE INDEX record_canonical ON record (canonical_key) WHERE canonical_key IS NOT NULL;
COMMENT ON COLUMN record.status IS 'never_crawled, fetched, failed, blocked, rejected';
COMMENT ON COLUMN record.validation_status IS 'of the last answer: valid, soft, hard; NULL when not validated';
COMMENT ON COLUMN record.rejection_reason IS 'of the last answer; NULL when it was not rejected';
CREATE OR REPLACE VIEW crawled_pages AS
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
