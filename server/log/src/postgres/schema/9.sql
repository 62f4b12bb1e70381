-- Conversations that their hub has given up, with all that it had shown of them stored, are had by a life that nobody lives: like one that has ended well.
INSERT INTO life (number, version, expires_at, ended_well, over) OVERRIDING SYSTEM VALUE
VALUES (0, '', '-infinity', true, true);
