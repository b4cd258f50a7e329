// std/flags/mod.ts and std/cli/parse_args.ts based on the npm package that they were modelled on.
import minimist from "npm:minimist@1";

export const parse = (args: string[], options: any = {}) =>
  minimist(args, { ...options, string: options.string ?? [], boolean: options.boolean ?? [], default: options.default ?? {} });
export const parseArgs = parse;
