// In base64, as much as all first bytes below take.
const LOOKED_AT = 64;
const UNKNOWN = 'application/octet-stream';

/** How a kind of file begins, its name, and other names for it. */
type Kind = readonly [begins: RegExp, type: string, others?: RegExp];

const KINDS: readonly Kind[] = [
  [/^\x89PNG\r\n/, 'image/png', /^image\/(?:x-png|apng|vnd\.mozilla\.apng)$/],
  [/^\xff\xd8\xff/, 'image/jpeg', /^image\/(?:jpg|pjpeg)$/],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^.{4}ftypavi[fs]/s, 'image/avif', /^image\/(?:avif-sequence|heif)$/],
  [/^RIFF.{4}WAVE/s, 'audio/wav', /^audio\/(?:wave|x-wav|vnd\.wave|x-pn-wav)$/],
  [/^fLaC/, 'audio/flac', /^audio\/x-flac$/],
  // What stands before or around other kinds of sound.
  [/^(?:ID3|\xff[\xfb\xf3\xf2])/, 'audio/mpeg', /^audio\//],
  [/^OggS/, 'audio/ogg', /^audio\//],
  // Pages, documents and programs.
  [/^\s*<(?:!doctype\s+html|html|head|body|script|iframe)\b/i, UNKNOWN],
  [/^(?:\xef\xbb\xbf)?\s*<(?:\?xml|svg|!doctype\s+svg)/i, UNKNOWN, /^image\/svg\+xml$/],
  [/^(?:%PDF-|\x7fELF|#!\/)/, UNKNOWN],
];

/** A picture or a sound as it is said to be. */
export interface Media {
  readonly type?: unknown;
  readonly mimeType?: unknown;
  readonly data?: unknown;
}

/**
 * The media type of a picture or a sound: the declared one, unless the first bytes contradict it. Data that is neither,
 * such as a page, gets the type of unknown bytes.
 */
export function typeOfMedia({ type, mimeType, data }: Media): string {
  const said = String(mimeType);
  if (typeof data !== 'string') return said;
  const name = said.split(';', 1)[0]!.trim().toLowerCase();
  const first = Buffer.from(data.slice(0, LOOKED_AT), 'base64').toString('latin1');
  const kind = KINDS.find(([begins]) => begins.test(first));
  const family = `${String(type)}/`;
  if (!kind) return name.startsWith(family) ? said : UNKNOWN;
  const [, found, others] = kind;
  if (name.startsWith(family) && (name === found || others?.test(name))) return said;
  return found.startsWith(family) ? found : UNKNOWN;
}

/** Whether this is a picture or a sound. */
export function isMedia({ type, mimeType }: Media): boolean {
  return (type === 'image' || type === 'audio') && typeof mimeType === 'string';
}

/** Whether a block surely has no wrong media type; its data may not be known. */
export function isSurelyLabelled(block: Media): boolean {
  if (!isMedia(block)) return true;
  return typeof block.data === 'string' && block.data !== '' && typeOfMedia(block) === block.mimeType;
}
