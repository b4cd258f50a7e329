-- Parts of multipart uploads keep the checksums that the client declared, for that of the whole object.
-- as: supabase_storage_admin

alter table storage.s3_multipart_uploads_parts add column if not exists checksums jsonb;
