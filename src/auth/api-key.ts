import { createHmac, randomBytes, type KeyObject } from 'node:crypto';

/** The prefix of every API key, so that scanners find leaked keys and keys differ from tokens. */
export const KEY_PREFIX = 'tck_';

const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
/** The length of every key. */
export const KEY_LENGTH = KEY_PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORM = /^tck_[0-9A-Za-z]{36}$/;

/** Makes a key: a prefix, 178 random bits and a checksum. It is shown once and not stored. */
export function createApiKey(): string {
  const body = KEY_PREFIX + randomDigits(RANDOM_LENGTH);
  return body + checksumOf(body);
}

/** Whether a text can be a key, by its checksum alone: a mistyped or invented key costs no lookup. */
export function isWellFormedKey(text: string): boolean {
  if (text.length !== KEY_LENGTH || !FORM.test(text)) return false;
  return checksumOf(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/** The stored form of a key; useless without the pepper. */
export function hashKey(key: string, pepper: string | Uint8Array | KeyObject): string {
  return createHmac('sha256', pepper).update(key).digest('base64url');
}

function randomDigits(count: number): string {
  let digits = '';
  while (digits.length < count) {
    for (const byte of randomBytes(count)) {
      // 248 is the largest multiple of 62 in a byte; beyond it some digits would be more likely.
      if (byte < 248 && digits.length < count) digits += DIGITS[byte % 62];
    }
  }
  return digits;
}

function checksumOf(body: string): string {
  let crc = 0xff_ff_ff_ff;
  for (let i = 0; i < body.length; i++) crc = CRC_TABLE[(crc ^ body.charCodeAt(i)) & 0xff]! ^ (crc >>> 8);
  let rest = ~crc >>> 0;
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = DIGITS[rest % 62]! + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xed_b8_83_20 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});
