// std/uuid/v4.ts
export const validate = (id: string): boolean =>
  /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i.test(id);
export const generate = (): string => crypto.randomUUID();
