import { join } from "@std/path";

/** The addresses of pages that show an article. */
export const pagesOf = (slug: string, section?: string): string[] =>
  ["/", join("/articles", slug), ...(section ? [join("/", ...section.split("."))] : [])];
