-- Since when a life has renewed its lease again and again in time, by the clock of this database: for so long it can tell whether others
-- have renewed theirs.
ALTER TABLE life ADD COLUMN steady_since timestamptz NOT NULL DEFAULT clock_timestamp();
