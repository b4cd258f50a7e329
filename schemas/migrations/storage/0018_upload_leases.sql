-- One writer for each resumable upload: who holds it and until when, who waits for it, and when it was finished.
-- as: supabase_storage_admin

alter table storage.tus_uploads
  add column if not exists writer uuid,
  add column if not exists leased_until timestamptz,
  add column if not exists is_awaited boolean not null default false,
  add column if not exists completed_at timestamptz;

comment on column storage.tus_uploads.writer is 'Who appends to it, until leased_until; null while nobody does';
comment on column storage.tus_uploads.is_awaited is 'Another request waits for the writer to let go';
comment on column storage.tus_uploads.completed_at is 'When its object was written; the row stays until it expires';
