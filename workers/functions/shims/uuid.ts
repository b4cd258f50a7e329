// std/uuid/mod.ts. Source: RFC 9562.
import * as v1 from "./uuid_v1.ts";
import * as v4 from "./uuid_v4.ts";
import * as v5 from "./uuid_v5.ts";

export const NIL_UUID = "00000000-0000-0000-0000-000000000000";
export const validate = (id: string): boolean =>
  id === NIL_UUID || /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i.test(id);
export const version = (id: string): number => parseInt(id[14], 16);
export const isNil = (id: string): boolean => id === NIL_UUID;
export const NAMESPACE_DNS = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
export const NAMESPACE_URL = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
export { v1, v4, v5 };
