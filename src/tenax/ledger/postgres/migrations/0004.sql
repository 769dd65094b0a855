-- Documents that list URLs, and how often pages change.
ALTER TABLE record ADD catalogue text, ADD freshness bytea;
COMMENT ON COLUMN record.catalogue IS 'sitemap or feed, when it is no page but a list of URLs; empty when it is said to be one';
COMMENT ON COLUMN record.freshness IS 'how it was seen to change: Freshness as JSON';
CREATE OR REPLACE VIEW held AS
    SELECT id, CASE WHEN http_status IN (404, 410) THEN asked_at ELSE fetched_at END AS fetched_at,
           CASE WHEN http_status IN (404, 410) THEN http_status ELSE coalesce(page_status, 200) END AS status,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE kind END AS kind,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE etag END AS etag,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE last_modified END AS last_modified,
           CASE WHEN http_status IN (404, 410) THEN 0 ELSE coalesce(content_length, 0) END AS content_length,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE catalogue END AS catalogue, freshness,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE content_hash END AS content_hash,
           CASE WHEN http_status IN (404, 410) THEN NULL ELSE fingerprint END AS fingerprint
    FROM record WHERE content_id IS NOT NULL OR catalogue <> '' OR http_status IN (404, 410);
-- Where each page leads, as it was when it last came: its links, packed. They come deflated.
CREATE TABLE link (record_id bigint PRIMARY KEY, packed bytea NOT NULL);
ALTER TABLE link ALTER packed SET STORAGE EXTERNAL;
