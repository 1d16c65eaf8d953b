import { constants, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { aboutFile, type Complaint } from '../../config/complaint.ts';
import { unreadable } from '../../config/settings-text.ts';

/** A file of an agent, and which of its agents is meant. */
export interface AgentReference {
  readonly file: string;
  /** `undefined` where the file has one agent, or all of them are meant. */
  readonly agent: string | undefined;
}

/** Splits `file.yaml#name`; a file that is really called so keeps its name. */
export function splitReference(reference: string): AgentReference {
  const at = reference.lastIndexOf('#');
  if (at <= 0 || existsSync(reference)) return { file: reference, agent: undefined };
  return { file: reference.slice(0, at), agent: reference.slice(at + 1) };
}

/** The bytes and the text of a file that is an ordinary one, small and UTF-8; or what is wrong with it. */
export type ReadFile = { readonly bytes: Buffer; readonly text: string } | { readonly complaint: Complaint };

const MAX_BYTES = 1_048_576;

/** Reads the file of an agent. */
export async function readAgentBytes(file: string): Promise<ReadFile> {
  let bytes: Buffer;
  try {
    bytes = await readBounded(file);
  } catch (error) {
    return { complaint: unreadable(file, error, 'agent.yaml') };
  }
  const about = (message: string, remedy: string): ReadFile => ({
    complaint: aboutFile(file, { message, remedy }),
  });
  if (bytes.length > MAX_BYTES)
    return about(`The file is larger than ${MAX_BYTES} bytes`, 'an agent is described in less');
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (text.includes('\0')) return about('The file is not text', 'name a text file');
    return { bytes, text };
  } catch {
    return about('The file is not UTF-8', 'save it as UTF-8');
  }
}

// A device or a pipe has no end, and opening a pipe may wait; a large file is not read beyond the limit.
async function readBounded(file: string): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) throw Object.assign(new Error(file), { code: 'EISDIR' });
    if (!stats.isFile()) throw Object.assign(new Error(file), { code: 'not an ordinary file' });
    const buffer = Buffer.alloc(Math.min(stats.size, MAX_BYTES) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) return buffer.subarray(0, length);
    }
  } finally {
    await handle.close();
  }
}
