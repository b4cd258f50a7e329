import { gatewayUrl } from "../../api/address.ts";

/**
 * Return an address of storage as this page reaches it: the policy of the page allows only its own origin, while a signed
 * address begins with the public address of the platform.
 */
export function ownAddress(url: string): string {
  const at = url.indexOf("/storage/v1/");
  return at < 0 ? url : gatewayUrl + url.slice(at);
}
