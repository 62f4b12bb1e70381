-- Sums of what runs, calls and models took and cost (see measure.rs), by hour (span 0) and by day (span 1) of UTC.
CREATE TABLE measure (
  span INTEGER NOT NULL,
  metric INTEGER NOT NULL,
  -- The number of the span since 1970.
  start INTEGER NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
  tool TEXT NOT NULL,
  -- The reason, the bucket, the currency.
  detail TEXT NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (span, metric, start, agent, model, tool, detail)
) WITHOUT ROWID;

-- How many rows are about a span.
CREATE TABLE measure_span (
  span INTEGER NOT NULL,
  start INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (span, start)
) WITHOUT ROWID;

-- What happened before is not counted, in milliseconds since 1970: a file of an earlier version begins now, a new one has all.
CREATE TABLE measured (since INTEGER NOT NULL, hours_since INTEGER NOT NULL DEFAULT 0);
INSERT INTO measured (since)
  SELECT CASE WHEN EXISTS (SELECT 1 FROM conversation) THEN unixepoch() * 1000 ELSE 0 END;
