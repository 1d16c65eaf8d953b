import { createHash } from 'node:crypto';

/** What is left of a body that is not kept. */
export interface NotKept {
  /** The SHA-256 of its text. */
  readonly digest: string;
  readonly bytes: number;
}

/** What to keep in the place of a text. */
export function notKept(text: string): NotKept {
  return { digest: createHash('sha256').update(text).digest('base64url'), bytes: Buffer.byteLength(text) };
}

/** A sentence about it, for whoever asks for the body. */
export function describeNotKept({ digest, bytes }: NotKept): string {
  return `Its outcome (${bytes} bytes, SHA-256 ${digest}) was too large to keep, or made room for later ones.`;
}
