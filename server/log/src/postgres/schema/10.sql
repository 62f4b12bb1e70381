-- The timeline of the server that answers: a number that rises with each promotion of a standby, and with nothing else that happens to a server which
-- goes on. The first eight digits of the name of the newest WAL file are it, from the moment of the promotion on, and every role may ask; what
-- `pg_control_checkpoint()` says follows at the next checkpoint. Null where the server does not say: a role may be kept from asking, and a service may
-- have no such files. A session is with one server, which changes its timeline before it takes a write: so what is read beside a write is that of the write.
CREATE FUNCTION fanlight_timeline() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

-- Where it was noted that a life ended well; null for one that did not, and for one of an older version.
ALTER TABLE life ADD COLUMN timeline bigint;
-- Where the conversation was given up last. An older version that gives it up leaves the number as it is, so it is that of then or one before.
ALTER TABLE owner ADD COLUMN timeline bigint;
-- What happened before this migration is not known. From here on it is.
UPDATE life SET timeline = (SELECT fanlight_timeline()) WHERE ended_well;
UPDATE owner SET timeline = (SELECT fanlight_timeline()) WHERE life = 0;
