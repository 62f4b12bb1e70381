-- Every document with an id up to this one has its words in the index; those of later ones are added after the rows.
CREATE TABLE word_index (through INTEGER NOT NULL);
INSERT INTO word_index (through) SELECT coalesce(max(id), 0) FROM document;
