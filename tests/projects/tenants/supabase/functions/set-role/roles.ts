export const ROLES = ["tenant_admin", "editor", "viewer"] as const;
export type Role = (typeof ROLES)[number];
export const isRole = (value: unknown): value is Role => ROLES.includes(value as Role);
