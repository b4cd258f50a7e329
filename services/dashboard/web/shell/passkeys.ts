/** Passkeys (WebAuthn): JSON of the interface to what the browser takes, and back. */

import { post } from "../api/client.ts";
import type { JsonValue } from "../generated/operations.ts";
import { texts } from "../texts.ts";

interface Challenge {
  challenge_id: string;
  options: PublicKeyCredentialRequestOptionsJSON;
}

/** Return whether this browser and address can use passkeys: they are bound to names, not to IP addresses. */
export function canUsePasskeys(): boolean {
  return "PublicKeyCredential" in globalThis && !/^[\d.]+$|^\[/.test(location.hostname);
}

/** Ask the browser for a passkey; return the field `passkey` of a sign-in or a confirmation. Throws if the user declines. */
export async function usePasskeyOnce(): Promise<{ challenge_id: string; credential: unknown }> {
  const { challenge_id, options } = await post("/sign-in/passkey-options", {}) as Challenge;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey }).catch(() => null) as PublicKeyCredential | null;
  if (credential === null) throw new Error(texts.signIn.passkeyFailed);
  return { challenge_id, credential: credential.toJSON() };
}

/** Make a passkey from the answer of `factors.passkey_options`; return the arguments of `factors.add_passkey`. Throws if declined. */
export async function createPasskey(
  { challenge_id, options }: { challenge_id: string; options: unknown },
): Promise<{ challenge_id: string; credential: { [name: string]: JsonValue } }> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON);
  const credential = await navigator.credentials.create({ publicKey }).catch(() => null) as PublicKeyCredential | null;
  if (credential === null) throw new Error(texts.signIn.passkeyFailed);
  return { challenge_id, credential: credential.toJSON() as unknown as { [name: string]: JsonValue } };
}
