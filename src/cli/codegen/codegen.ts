import { writeFile } from 'node:fs/promises';
import { ToolcribError } from '../../base/errors.ts';
import type { ServerFlags } from '../client/target.ts';
import { collectTools } from '../collect-tools.ts';
import { standardOutput } from '../output.ts';
import { toolTypes } from './tool-types.ts';

/** Options of `toolcrib codegen`. */
export interface CodegenFlags extends Omit<ServerFlags, 'json'> {
  /** The command of a local server to ask. */
  readonly server?: readonly string[];
  readonly config?: string;
  readonly out?: string;
}

/** `toolcrib codegen`: writes TypeScript types for the input and output of tools. */
export async function codegen(files: readonly string[], flags: CodegenFlags): Promise<void> {
  const { out } = flags;
  const { tools, problems } = await collectTools(files, flags);
  // Types for some of the tools would look like types for all of them.
  if (problems.length > 0) throw new ToolcribError('invalid_setup', problems.join('\n'));
  if (tools.length === 0)
    throw new ToolcribError(
      'invalid_setup',
      'There are no tools to write types for: name a file that exports some.',
    );
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw new ToolcribError(
      'invalid_setup',
      `Two tools are called "${twice}": name files whose tools go together.`,
    );
  const text = `${HEADER}\n${toolTypes(tools)}`;
  if (out === undefined) {
    standardOutput().write(text);
    return;
  }
  await save(out, text);
  standardOutput().write(`${out} has the types of ${tools.length} tool${tools.length === 1 ? '' : 's'}.\n`);
}

const HEADER = '// Written by toolcrib codegen: change the tools, and run it again.\n';

async function save(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (cause) {
    throw new ToolcribError(
      'invalid_setup',
      `${file} cannot be written: name a file in a folder that exists, with --out FILE.`,
      { cause },
    );
  }
}
