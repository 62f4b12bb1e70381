-- The newest ticket of a life that is rows: what the journal beside the file has of it up to there is not read again.
ALTER TABLE life ADD COLUMN applied INTEGER NOT NULL DEFAULT 0;

-- Conversations that went before what waited was written, since a full disk needed their room, and the tickets with which they
-- went: what the journal has of them before that is not read again.
CREATE TABLE void (
  conversation TEXT PRIMARY KEY,
  ticket INTEGER NOT NULL
) WITHOUT ROWID;
