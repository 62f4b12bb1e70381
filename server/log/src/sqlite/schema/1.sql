-- One row for each start on this file. What a life wrote counts as whole only if it ended well.
CREATE TABLE life (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  version TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  -- Written when somebody asks that all of it survives the loss of power.
  synced_at INTEGER NOT NULL DEFAULT 0,
  ended_well INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE conversation (
  -- Never given again, so that what was made for a conversation that went is not held against a later one.
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  epoch TEXT NOT NULL,
  head INTEGER NOT NULL,
  -- When the newest event was taken.
  at INTEGER NOT NULL,
  -- Which life wrote it last; 0 when what it wrote is not whole.
  life INTEGER NOT NULL,
  -- Blocks since the last compaction.
  loose INTEGER NOT NULL DEFAULT 0,
  -- About what it takes.
  bytes INTEGER NOT NULL DEFAULT 0,
  -- How the newest run stands, and the row of the list, as of row_head.
  state TEXT,
  row_head INTEGER NOT NULL DEFAULT 0,
  row TEXT
);
CREATE INDEX conversation_by_time ON conversation (at DESC, id);
CREATE INDEX conversation_by_state ON conversation (state, at DESC, id);

-- Blocks of events. The bodies stand in the order in which they were written, whatever their conversations: so a commit
-- writes few pages, however many conversations it is about. The index is small.
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  -- 0: as it is; 1: zlib.
  encoding INTEGER NOT NULL,
  -- Bytes of the body as it is.
  raw INTEGER NOT NULL,
  body BLOB NOT NULL
);
CREATE UNIQUE INDEX event_by_seq ON event (conversation, first);

-- The state of a conversation at seq, zlib.
CREATE TABLE checkpoint (
  conversation INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  body BLOB NOT NULL
);

-- How far the publishers of a conversation have come. Later ones have a higher turn.
CREATE TABLE mark (
  conversation INTEGER NOT NULL,
  publisher TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY (conversation, publisher)
) WITHOUT ROWID;

CREATE TABLE attachment (
  id INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  hash TEXT NOT NULL,
  json TEXT NOT NULL
);
CREATE UNIQUE INDEX attachment_by_hash ON attachment (conversation, hash);

-- Texts to be found. `place` holds the conversation and the kind as words, so that the index narrows by them.
CREATE TABLE document (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL,
  run TEXT NOT NULL,
  kind TEXT NOT NULL,
  item TEXT NOT NULL,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  place TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE UNIQUE INDEX document_by_item ON document (conversation, run, kind, item);
CREATE VIRTUAL TABLE word USING fts5 (
  text,
  place,
  content = 'document',
  content_rowid = 'id',
  columnsize = 0,
  tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE tool (
  name TEXT PRIMARY KEY,
  calls INTEGER NOT NULL,
  failed INTEGER NOT NULL
) WITHOUT ROWID;

-- How many calls took about how long.
CREATE TABLE tool_latency (
  name TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (name, bucket)
) WITHOUT ROWID;
