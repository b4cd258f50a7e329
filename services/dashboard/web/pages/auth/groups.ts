/** Which settings are shown where, in which order. A key that ends in `.` stands for all below it. */

import type { SettingEntry } from "../../generated/operations.ts";

export interface SettingGroup {
  id: string;
  keys: readonly string[];
}

export const signUpGroups: readonly SettingGroup[] = [
  {
    id: "signUp",
    keys: [
      "auth.enable_signup",
      "auth.email.enable_signup",
      "auth.email.enable_confirmations",
      "auth.email.magic_link_enabled",
      "auth.sms.enable_signup",
      "auth.sms.enable_confirmations",
      "auth.enable_anonymous_sign_ins",
      "auth.enable_manual_linking",
      "auth.email.allow_unverified_email_sign_ins",
      "auth.email.validation_extended",
      "auth.email.authorized_addresses",
    ],
  },
  {
    id: "passwords",
    keys: [
      "auth.minimum_password_length",
      "auth.password_requirements",
      "auth.password.max_length",
      "auth.password.required_characters",
      "auth.password.hibp.",
      "auth.email.secure_password_change",
      "auth.email.require_current_password",
      "auth.email.double_confirm_changes",
    ],
  },
  {
    id: "sessions",
    keys: [
      "auth.jwt_expiry",
      "auth.sessions.",
      "auth.enable_refresh_token_rotation",
      "auth.refresh_token_reuse_interval",
    ],
  },
  { id: "factors", keys: ["auth.mfa."] },
  { id: "passkeys", keys: ["auth.passkey.", "auth.webauthn."] },
];

export const limitGroups: readonly SettingGroup[] = [
  { id: "rates", keys: ["auth.rate_limit."] },
  {
    id: "messages",
    keys: [
      "auth.email.max_frequency",
      "auth.email.otp_length",
      "auth.email.otp_expiry",
      "auth.sms.max_frequency",
      "auth.sms.otp_length",
      "auth.sms.otp_expiry",
    ],
  },
  { id: "captcha", keys: ["auth.captcha."] },
];

export const smtpGroup: SettingGroup = { id: "smtp", keys: ["auth.email.smtp."] };

/** Return the entries of a group, in the group's order. */
export function entriesOf(settings: readonly SettingEntry[], { keys }: SettingGroup): readonly SettingEntry[] {
  return keys.flatMap((key) =>
    settings.filter((entry) => key.endsWith(".") ? entry.key.startsWith(key) : entry.key === key)
  );
}

const acronyms = /\b(url|urls|uri|jwt|otp|totp|sms|sso|smtp|id|aal|hibp|rp|saml|scim|ttl)\b/g;

/** Return what a setting is called: `auth.mfa.totp.enroll_enabled` in the group of `auth.mfa.` -> "TOTP: enroll enabled". */
export function labelOf(key: string, prefix: string): string {
  const parts = key.slice(prefix.length).split(".").map((part) => part.replaceAll("_", " "));
  const label = parts.join(": ").replace(acronyms, (word) => word === "urls" ? "URLs" : word.toUpperCase());
  return label.charAt(0).toUpperCase() + label.slice(1);
}
