-- The transactions of a life so far, and when the newest was made: the watermark beside the file says the same, so that
-- what is missing is noticed.
ALTER TABLE life ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE life ADD COLUMN written_at INTEGER NOT NULL DEFAULT 0;

-- Keys without a conversation: of those that went, whose rows are deleted step by step, and of imports under way.
CREATE TABLE gone (
  key INTEGER PRIMARY KEY,
  -- About what it takes.
  bytes INTEGER NOT NULL DEFAULT 0,
  -- The number of the import in this life; null when its rows are to be deleted.
  import INTEGER,
  -- The newest seq of the import.
  head INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX gone_by_import ON gone (import) WHERE import IS NOT NULL;
