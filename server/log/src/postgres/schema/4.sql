-- What people made of conversations, as of row_head: the list is narrowed to it. Tags stand between line breaks.
ALTER TABLE conversation ADD COLUMN pinned smallint NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN archived smallint NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN tags text NOT NULL DEFAULT '';
-- Few are pinned, and each look at the list asks for them.
CREATE INDEX conversation_pinned ON conversation (at DESC, id) WHERE pinned = 1;
