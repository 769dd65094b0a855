-- A worker that reaches no Redis says so here: the others leave it its share of every pace.
ALTER TABLE worker ADD is_cut_off boolean NOT NULL DEFAULT false;
