-- What a worker writes to let several transactions wait for the disk together (workers/database/connection_pool/shared_commits.py).
-- as: superuser

-- A commit waits for the disk only if its transaction has written something, and the log up to it holds all commits before it. Setting a
-- sequence is the smallest record that no reader of the log gets: a message would be sent to each of them. Its value means nothing.
create sequence if not exists headwater.commits;
comment on sequence headwater.commits is 'Set by workers whose transactions wait for the disk together; its value means nothing';
grant update on sequence headwater.commits to public;
