-- How many runs, first outputs and calls took how long: the counts of all buckets of an hour (span 0) or a day (span 1) and a name in one
-- row, packed (see measure/latency.rs), since a question reads all of them. The rows of `measure` that had one bucket each are brought here
-- by sqlite/measures/latencies.rs.
CREATE TABLE latency (
  span INTEGER NOT NULL,
  metric INTEGER NOT NULL,
  start INTEGER NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
  tool TEXT NOT NULL,
  counts BLOB NOT NULL,
  PRIMARY KEY (span, metric, start, agent, model, tool)
) WITHOUT ROWID;
