-- Settings that users change while the hubs run, such as the models that forge-ui shows.
CREATE TABLE setting (
  name text COLLATE "C" PRIMARY KEY,
  -- How often it was changed.
  version bigint NOT NULL,
  text text NOT NULL
);
-- What a token has spent in another currency or period stands in a row of its own.
ALTER TABLE spending DROP CONSTRAINT spending_pkey;
ALTER TABLE spending ADD PRIMARY KEY (token, currency, since);
-- When a hub last charged it or, for a budget without a period, last had the token; in milliseconds since 1970, by the clock of that hub.
ALTER TABLE spending ADD COLUMN used_at bigint NOT NULL DEFAULT (extract(epoch FROM now()) * 1000)::bigint;
ALTER TABLE spending ALTER COLUMN used_at DROP DEFAULT;
