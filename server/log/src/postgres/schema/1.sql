-- One row for each start of a hub on this database: its life. No transaction of a life that is over is committed.
CREATE TABLE life (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Until when it is alive if it says nothing more: by the clock of this database alone.
  expires_at timestamptz NOT NULL,
  -- Its transactions so far. Each names its number, so that one whose answer was lost is not made twice.
  commits bigint NOT NULL DEFAULT 0,
  -- When the newest was made, in milliseconds since 1970.
  written_at bigint NOT NULL DEFAULT 0,
  ended_well boolean NOT NULL DEFAULT false,
  -- It ended, or another life took over.
  over boolean NOT NULL DEFAULT false
);

-- Keys are never given again, so that what was made for a conversation that went is not held against a later one.
CREATE SEQUENCE conversation_key;

CREATE TABLE conversation (
  key bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  epoch text NOT NULL,
  head bigint NOT NULL,
  -- When the newest event was taken, in milliseconds since 1970.
  at bigint NOT NULL,
  -- Which life wrote it last; 0 when what it wrote is not whole.
  life bigint NOT NULL,
  -- Blocks since the last compaction.
  loose integer NOT NULL DEFAULT 0,
  -- Bytes of its blocks, texts and results, and of its state.
  bytes bigint NOT NULL DEFAULT 0,
  view_bytes bigint NOT NULL DEFAULT 0,
  -- How the newest run stands, and the row of the list, as of row_head.
  state text,
  row_head bigint NOT NULL DEFAULT 0,
  row text
);
CREATE INDEX conversation_by_time ON conversation (at DESC, id);
CREATE INDEX conversation_by_state ON conversation (state, at DESC, id);

-- Blocks of events.
CREATE TABLE event (
  conversation bigint NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  -- 0: as it is; 1: zlib.
  encoding smallint NOT NULL,
  -- Bytes of the body as it is.
  raw bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (conversation, first)
);
-- Old blocks are compressed already, and new ones soon are.
ALTER TABLE event ALTER COLUMN body SET STORAGE EXTERNAL;

-- The state of a conversation at seq, zlib.
CREATE TABLE checkpoint (
  conversation bigint PRIMARY KEY,
  seq bigint NOT NULL,
  body bytea NOT NULL
);
ALTER TABLE checkpoint ALTER COLUMN body SET STORAGE EXTERNAL;

-- How far the publishers of a conversation have come. Later ones have a higher turn.
CREATE TABLE mark (
  conversation bigint NOT NULL,
  publisher text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  seq bigint NOT NULL,
  turn bigint NOT NULL,
  PRIMARY KEY (conversation, publisher)
);

CREATE TABLE attachment (
  conversation bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  json bytea NOT NULL,
  PRIMARY KEY (conversation, hash)
);

-- Texts to be found. Besides the words of the text, `words` holds the conversation and the kind as two more, so that the index
-- narrows by them.
CREATE TABLE document (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  conversation bigint NOT NULL,
  run text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  name text NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  text text NOT NULL,
  words tsvector NOT NULL
);
CREATE UNIQUE INDEX document_by_item ON document (conversation, run, kind, item);
CREATE INDEX document_by_words ON document USING gin (words);

CREATE TABLE tool (
  name text COLLATE "C" PRIMARY KEY,
  calls bigint NOT NULL,
  failed bigint NOT NULL
);

-- How many calls took about how long.
CREATE TABLE tool_latency (
  name text COLLATE "C" NOT NULL,
  bucket integer NOT NULL,
  calls bigint NOT NULL,
  PRIMARY KEY (name, bucket)
);

-- Keys without a conversation: of those that went, whose rows are deleted step by step, and of imports under way.
CREATE TABLE gone (
  key bigint PRIMARY KEY,
  -- About what it takes.
  bytes bigint NOT NULL DEFAULT 0,
  -- The number of the import, in that life; null when its rows are to be deleted.
  import bigint,
  life bigint NOT NULL DEFAULT 0,
  -- The newest seq of the import.
  head bigint NOT NULL DEFAULT 0
);

-- What was refused for reasons of its own, as JSON.
CREATE TABLE aside (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  set_aside_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  body bytea NOT NULL
);
