import { z } from 'zod';
import { ToolcribError } from '../../base/errors.ts';
import {
  inOne,
  literal,
  nameFrom,
  readCommand,
  variableFrom,
  type NewEntry,
  type Proposal,
} from './new-entry.ts';

const input = z.object({
  value: z.string().optional(),
  default: z.string().optional(),
  description: z.string().optional(),
  isRequired: z.boolean().default(false),
  isSecret: z.boolean().default(false),
});
// Written as keys, so they hold nothing that could be read as a variable.
const variable = input.extend({ name: z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of a variable') });
const header = input.extend({
  name: z.string().regex(/^[\w!#%&'*+.^`|~-]+$/, 'must be the name of a header'),
});
const argument = input.extend({
  type: z.enum(['positional', 'named']),
  name: z.string().optional(),
  valueHint: z.string().optional(),
});

const registryServer = z.object({
  name: z.string().min(1),
  version: z.string().optional(),
  packages: z
    .array(
      z.object({
        registryType: z.string(),
        identifier: z.string().min(1),
        version: z.string().optional(),
        runtimeHint: z.string().optional(),
        transport: z.object({ type: z.string() }).optional(),
        runtimeArguments: z.array(argument).default([]),
        packageArguments: z.array(argument).default([]),
        environmentVariables: z.array(variable).default([]),
      }),
    )
    .default([]),
  remotes: z
    .array(
      z.object({
        type: z.string(),
        url: z.string(),
        headers: z.array(header).default([]),
        variables: z.record(z.string(), input).default({}),
      }),
    )
    .default([]),
});

type RegistryServer = z.output<typeof registryServer>;
type Package = RegistryServer['packages'][number];
type Remote = RegistryServer['remotes'][number];
type Input = z.output<typeof input>;
type Fill = (one: Input, variable: string) => string | undefined;

/** The entry for a server that a registry describes (`server.json`): a package to run, or else an address. */
export function fromRegistry(content: unknown): Proposal {
  // The API of a registry puts the description into a member.
  const inner = z.object({ server: z.unknown() }).safeParse(content);
  const checked = registryServer.safeParse(
    inner.success && inner.data.server !== undefined ? inner.data.server : content,
  );
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw refuse(`This is no server.json: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim());
  }
  const server = checked.data;
  const name = nameFrom(server.name.split('/').at(-1) ?? server.name);
  const variables: { name: string; what: string }[] = [];
  const fill: Fill = (one, called) => filled(one, called, variables);
  const remote = server.remotes.find(({ type }) => type !== 'stdio');
  const local = server.packages.find(
    ({ registryType, transport }) =>
      Object.hasOwn(RUNNERS, registryType) && (transport?.type ?? 'stdio') === 'stdio',
  );
  if (local) {
    const entry = fromPackage(local, name, fill);
    const { warnings } = readCommand([entry.command, ...(entry.args ?? [])]);
    return { name, entry, variables, warnings };
  }
  if (!remote)
    throw refuse(
      'It names neither an address nor a package of npm, PyPI, NuGet or a container registry that is spoken to over standard input.',
    );
  return { name, entry: fromRemote(remote, name, fill), variables, warnings: [] };
}

function fromRemote({ type, url, headers: asked, variables }: Remote, name: string, fill: Fill): NewEntry {
  const headers = Object.fromEntries(
    asked.flatMap((one) => {
      const value = fill(one, variableFrom(name, one.name));
      return value === undefined ? [] : [[one.name, value]];
    }),
  );
  // The operator fills in the parts in braces; without them there is no address.
  const parts = url.split(/(?<!\$)\{(\w+)\}/).map((part, at) => {
    if (at % 2 === 0) return literal(part);
    const one = Object.hasOwn(variables, part) ? variables[part]! : input.parse({});
    return fill({ ...one, isRequired: true }, variableFrom(name, part)) ?? '';
  });
  return {
    ...(type === 'sse' && { type: 'sse' as const }),
    url: inOne(parts),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

// How a package of each kind is run, with its version fixed.
const RUNNERS: Readonly<
  Record<string, (one: Package) => { readonly command: string; readonly args: readonly string[] }>
> = {
  npm: ({ identifier, version, runtimeHint }) => ({
    command: runtimeHint ?? 'npx',
    args: [
      ...(runtimeHint === undefined || runtimeHint === 'npx' ? ['-y'] : []),
      joined(identifier, '@', version),
    ],
  }),
  pypi: ({ identifier, version, runtimeHint }) => ({
    command: runtimeHint ?? 'uvx',
    args: [joined(identifier, '==', version)],
  }),
  nuget: ({ identifier, version }) => ({ command: 'dnx', args: [joined(identifier, '@', version), '--yes'] }),
  oci: ({ identifier, version }) => ({
    command: 'docker',
    args: [
      'run',
      '-i',
      '--rm',
      /[@:][^/]*$/.test(identifier) ? identifier : joined(identifier, ':', version),
    ],
  }),
};

function joined(identifier: string, sign: string, version: string | undefined): string {
  return version === undefined || version === 'latest' ? identifier : `${identifier}${sign}${version}`;
}

function fromPackage(one: Package, name: string, fill: Fill): Extract<NewEntry, { command: string }> {
  const made = RUNNERS[one.registryType]!(one);
  const [command = '', ...args] = [made.command, ...made.args].map(literal);
  const words = (list: Package['packageArguments']): string[] =>
    list.flatMap((each, at) => {
      const called = each.name ?? each.valueHint ?? `argument ${at + 1}`;
      const value = fill(each, variableFrom(name, called.replace(/^-+/, '')));
      if (each.type === 'positional') return value === undefined ? [] : [value];
      return value === undefined ? [] : [literal(called), value];
    });
  const env = Object.fromEntries(
    one.environmentVariables.flatMap((each) => {
      const value = fill(each, each.name);
      return value === undefined ? [] : [[each.name, value]];
    }),
  );
  const isImage = one.registryType === 'oci';
  const passed = isImage ? Object.keys(env).flatMap((key) => ['-e', key]) : [];
  const before = isImage
    ? [...args.slice(0, -1), ...passed, ...words(one.runtimeArguments)]
    : words(one.runtimeArguments);
  const after = isImage ? args.slice(-1) : args;
  return {
    command,
    args: [...before, ...after, ...words(one.packageArguments)],
    ...(Object.keys(env).length > 0 && { env }),
  };
}

// A secret of the description is never written; a variable that is neither set nor needed is left out.
function filled(one: Input, name: string, variables: { name: string; what: string }[]): string | undefined {
  const given = one.value ?? one.default;
  const hasBlank = one.value?.includes('{') === true;
  if (given !== undefined && !one.isSecret && !hasBlank) return literal(given);
  if (!one.isRequired && !one.isSecret && !hasBlank) return undefined;
  const what = one.description ?? (one.isSecret ? 'a secret' : 'a value it needs');
  variables.push({ name, what: `${what}${one.isRequired ? '' : ' (may stay empty)'}` });
  return one.isRequired ? `\${${name}}` : `\${${name}:-}`;
}

function refuse(text: string): ToolcribError {
  return new ToolcribError('invalid_setup', text);
}
