-- Several hubs on one database: how other hubs reach the hub of a life; null for a hub that is alone on the database.
ALTER TABLE life ADD COLUMN address text;

-- Which hub has a conversation: the lease is that of its life, so renewing it is one row for each hub.
CREATE TABLE owner (
  conversation text COLLATE "C" PRIMARY KEY,
  life bigint NOT NULL REFERENCES life (number),
  -- Raised with each new owner.
  epoch bigint NOT NULL DEFAULT 1,
  claimed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX owner_by_life ON owner (life);
