-- What limits cut off: of each page, by the limit's name, how many of its links were not followed.
CREATE TABLE cut_off (record_id bigint, name text, count bigint NOT NULL, PRIMARY KEY (record_id, name));
-- Tasks that a setting keeps back.
CREATE INDEX record_parked ON record (id) WHERE state = 'parked';
COMMENT ON COLUMN record.state IS 'waiting, settled, dead, parked';
