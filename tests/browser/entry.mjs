// What the pages of the tests use, bundled by the platform's own Deno (site.py): nothing here needs Node.
import { Auth } from 'npm:@supabase/auth-ui-react@0.4.7'
import { createElement } from 'npm:react@18.3.1'
import { createRoot } from 'npm:react-dom@18.3.1/client'

export { createClient } from 'npm:@supabase/supabase-js@2.119.0'
export { Upload } from 'npm:tus-js-client@4.3.1'

/** Show the forms of auth-ui-react in the page, with the properties of its component. */
export const showAuth = (properties) => {
  createRoot(document.body.appendChild(document.createElement('main'))).render(createElement(Auth, properties))
}
