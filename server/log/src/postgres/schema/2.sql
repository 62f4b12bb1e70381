-- Sums of what runs, calls and models took and cost (see measure.rs), by hour (span 0) and by day (span 1) of UTC.
CREATE TABLE measure (
  span smallint NOT NULL,
  metric smallint NOT NULL,
  -- The number of the span since 1970.
  start bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  -- The reason, the bucket, the currency.
  detail text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (span, metric, start, agent, model, tool, detail)
);

-- How many rows are about a span.
CREATE TABLE measure_span (
  span smallint NOT NULL,
  start bigint NOT NULL,
  rows bigint NOT NULL,
  PRIMARY KEY (span, start)
);

-- What happened before is not counted, in milliseconds since 1970: a database of an earlier version begins now, a new one has all.
CREATE TABLE measured (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  since bigint NOT NULL,
  hours_since bigint NOT NULL DEFAULT 0
);
INSERT INTO measured (since)
  SELECT CASE WHEN EXISTS (SELECT 1 FROM conversation) THEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint ELSE 0 END;
