-- Logins at a provider of identities that are under way, where several hubs share the database: one that began at a hub ends at any. Whoever
-- reads a row can end no login with it: that takes the code of the provider, which the browser has, and its cookie.
CREATE TABLE login (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The hash of the state.
  state text COLLATE "C" NOT NULL UNIQUE,
  -- The nonce, the verifier and where the browser goes, as JSON of the hubs.
  login text NOT NULL,
  -- In milliseconds since 1970, by the clock of the hub that began it.
  expires_at bigint NOT NULL
);
-- Links to one conversation, by the hash of their secret.
CREATE TABLE share (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  -- What the link shows, as JSON of the hubs.
  share text NOT NULL,
  -- Nothing for no limit.
  views_left bigint,
  expires_at bigint NOT NULL,
  -- A link that was revoked stays until it expires, so that a hub whose file still has it does not bring it back.
  revoked boolean NOT NULL DEFAULT false
);
-- What tokens with a budget have spent through all hubs, by the hash of the token.
CREATE TABLE spending (
  token text COLLATE "C" PRIMARY KEY,
  -- When the period of the budget began, in milliseconds since 1970.
  since bigint NOT NULL,
  currency text NOT NULL,
  picos bigint NOT NULL,
  calls bigint NOT NULL,
  estimated bigint NOT NULL
);
