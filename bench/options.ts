import { parseArgs } from 'node:util';

/** What the command line asked for. */
export interface RunOptions {
  readonly quick: boolean;
  readonly help: boolean;
  readonly only: readonly string[];
}

/** Reads the command line; throws on an option or part that does not exist. */
export function parseOptions(args: readonly string[], partNames: readonly string[]): RunOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: partNames.join(',') },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const only = values.only.split(',').map((name) => name.trim());
  const unknown = only.filter((name) => !partNames.includes(name));
  if (unknown.length > 0)
    throw new Error(`No part is called ${unknown.join(', ')}; there are ${partNames.join(', ')}.`);
  return { quick: values.quick, help: values.help, only };
}

/** What `--help` prints. */
export function helpText(partNames: readonly string[]): string {
  return `npm run bench [-- options]

Measures toolcrib beside a bare handler and other libraries, on 127.0.0.1 only.
A full run takes well over half an hour and rewrites bench/RESULTS.md.

  --only <parts>  run some parts only: ${partNames.join(',')}
  --quick         three short rounds, to see that everything works
  --help          show this text

With --quick, or with --only and not every part, results are printed and RESULTS.md stays as it is.
`;
}
