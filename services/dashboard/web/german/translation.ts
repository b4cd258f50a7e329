/** A catalog of texts in another language: the same names, and functions of the same parameters. One that lacks a text does not compile. */
export type Translation<T> = {
  readonly [Name in keyof T]: T[Name] extends string ? string
    : T[Name] extends (...values: infer Values) => string ? (...values: Values) => string
    : Translation<T[Name]>;
};
