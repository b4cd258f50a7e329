// What the pages of the tests use, bundled by the platform's own Deno (site.py): nothing here needs Node.
export { createClient } from 'npm:@supabase/supabase-js@2.119.0'
export { Upload } from 'npm:tus-js-client@4.3.1'
