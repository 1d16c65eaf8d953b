import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ToolcribError } from '../../base/errors.ts';
import { describeIssues } from '../../schema/validator.ts';
import { settingsFolder } from '../servers/places.ts';

const named = z.union([
  z.string().min(1),
  z.strictObject({
    name: z.string().min(1),
    api: z.enum(['openai-chat', 'openai-responses', 'anthropic-messages']).exactOptional(),
    baseUrl: z.url({ protocol: /^https?$/ }).exactOptional(),
    keyVariable: z
      .string()
      .regex(/^[A-Za-z_]\w*$/)
      .exactOptional(),
    maxOutputTokens: z.int().positive().exactOptional(),
  }),
]);
const price = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cached: z.number().nonnegative().exactOptional(),
});
const settings = z.strictObject({
  default: named.exactOptional(),
  models: z.record(z.string(), named).default({}),
  prices: z.record(z.string(), price).default({}),
});

/** The user's names for models, the default model, and the prices. */
export type UserModels = z.output<typeof settings>;

/** Reads the user's own `models.yaml`; it needs not be there. */
export async function readUserModels(): Promise<UserModels> {
  const file = join(settingsFolder(), 'toolcrib/models.yaml');
  if (!existsSync(file)) return { models: {}, prices: {} };
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(readFileSync(file, 'utf8'), { maxAliasCount: 100 });
  } catch (cause) {
    throw new ToolcribError('invalid_config', `${file} is not YAML; correct it.`, { cause });
  }
  const read = settings.safeParse(value ?? {});
  if (read.success) return read.data;
  throw new ToolcribError('invalid_config', `${file}: ${describeIssues(read.error.issues)}`);
}
