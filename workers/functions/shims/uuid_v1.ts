// std/uuid/v1.ts. Source: RFC 9562, section 5.1.
import { v1 } from "npm:uuid@11";

export const validate = (id: string): boolean =>
  /^[\da-f]{8}-[\da-f]{4}-1[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i.test(id);
export const generate = (): string => v1();
