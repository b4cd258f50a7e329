/** The one-time link: `/_/sign-in#<secret>`. The part after # never leaves the browser but in the request that uses it. */

import { dashboardUrl } from "../api/address.ts";

/** Return the secret of the link that this page was opened by, and remove it from the address and the history. */
export function takeLink(): string {
  const page = new URL("sign-in", dashboardUrl);
  const secret = location.hash.slice(1);
  if (location.pathname !== page.pathname || !secret) return "";
  history.replaceState(null, "", dashboardUrl);
  return secret;
}
