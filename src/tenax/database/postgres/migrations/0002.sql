-- A worker that cannot reach Redis announces it here: the others leave it its share of every rate limit.
ALTER TABLE worker ADD is_cut_off boolean NOT NULL DEFAULT false;
