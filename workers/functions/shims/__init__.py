"""TypeScript replacements for modules of Deno's standard library, for machines that can reach only an npm registry."""
