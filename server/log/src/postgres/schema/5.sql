-- Sessions of browsers, where several hubs share the database: each hub admits those that any of them has let in. Nothing here admits
-- anybody: a session is known by the hash of its secret.
CREATE TABLE session (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  -- The token, link or person whose session it is.
  caller text NOT NULL,
  -- For whom it stands, as JSON of the hubs.
  behind text NOT NULL,
  -- In milliseconds since 1970, by the clock of the hub that began it.
  expires_at bigint NOT NULL
);
