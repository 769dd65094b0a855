-- Links cut off by limits: their number per page and limit.
CREATE TABLE cut_off (record_id bigint, name text, count bigint NOT NULL, PRIMARY KEY (record_id, name));
-- Tasks that a setting refuses.
CREATE INDEX record_parked ON record (id) WHERE state = 'parked';
COMMENT ON COLUMN record.state IS 'waiting, settled, dead, parked';
