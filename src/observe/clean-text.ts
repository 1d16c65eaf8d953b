/**
 * Text without anything a reader cannot see: escape sequences, controls, invisible and reordering characters, floods of marks. What was a
 * line break stays one. Cleaning twice is the same as cleaning once, and the result is never longer.
 */
export function cleanText(text: string): string {
  if (!BEYOND_PLAIN.test(text) || !isSuspect(text)) return text;
  // Nothing that is taken out reaches across a newline, so clean lines cost nothing more.
  return text
    .split('\n')
    .map((line) => (isSuspect(line) ? cleanLine(line) : line))
    .join('\n');
}

/** Whether text is printable ASCII, tabs and newlines alone: nothing to clean, and as many bytes as letters. */
export function isPlainText(text: string): boolean {
  return !BEYOND_PLAIN.test(text);
}

const BEYOND_PLAIN = /[^\t\n -~]/;
const MAX_MARKS = 8;

const UNKNOWN = 0;
const PLAIN = 1;
const SUSPECT = 2;
const MARK = 3;
const HIGH_SURROGATE = 4;

// A table, because the patterns it is made from take ten times as long; what it lets through needs no cleaning.
function isSuspect(text: string): boolean {
  let marks = 0;
  for (let at = 0; at < text.length; at++) {
    const kind = kindOf(text.charCodeAt(at));
    if (kind === SUSPECT) return true;
    if (kind === HIGH_SURROGATE && !isLowSurrogate(text.charCodeAt(++at))) return true;
    marks = kind === MARK ? marks + 1 : 0;
    if (marks > MAX_MARKS) return true;
  }
  return false;
}

// By code unit, each found out when it is first met: all of them at once would hold up everybody for a tenth of a second.
const kinds = new Uint8Array(0x1_0000);

function kindOf(code: number): number {
  const known = kinds[code]!;
  return known === UNKNOWN ? (kinds[code] = readKind(code)) : known;
}

// A first half stands for all that may follow it, and a second half is met alone only when it is out of place.
function readKind(code: number): number {
  const letter = String.fromCharCode(code);
  if (code >= 0xd800 && code < 0xdc00) return isHarmlessBlock(code) ? HIGH_SURROGATE : SUSPECT;
  if (ALWAYS_SUSPECT.test(letter)) return SUSPECT;
  return MARKS.test(letter) ? MARK : PLAIN;
}

function isHarmlessBlock(high: number): boolean {
  const first = String.fromCharCode(high, 0xdc00).codePointAt(0)!;
  for (let code = first; code < first + 0x400; code++) {
    const letter = String.fromCodePoint(code);
    if (ALWAYS_SUSPECT.test(letter) || MARKS.test(letter)) return false;
  }
  return true;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

const ALWAYS_SUSPECT = /[^\P{Cc}\t\n]|[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Cs}\u2028\u2029\u2800]/u;
const MARKS = /[\p{M}]/u;

function cleanLine(line: string): string {
  const visible = line
    .replaceAll(ESCAPE_SEQUENCE, '')
    .replaceAll(LINE_BREAK, '\n')
    .replaceAll(LONE_SURROGATE, '\ufffd')
    .replaceAll(INVISIBLE, '')
    .replaceAll(BRAILLE_BLANK, '');
  const bounded = mayFlood(visible) ? visible.replaceAll(SURPLUS_MARK, '') : visible;
  return bounded.replaceAll(JOINER, keepNeeded);
}

// Looking behind every letter takes longer than all the other steps together. Marks beyond the first plane have two halves, so all halves count.
function mayFlood(text: string): boolean {
  let marks = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isMark = code > 0x2ff && (kindOf(code) !== PLAIN || (code >= 0xd800 && code < 0xe000));
    marks = isMark ? marks + 1 : 0;
    if (marks > MAX_MARKS) return true;
  }
  return false;
}

// Control strings end within their line or are no control strings: then only what opens them is taken, and nothing stays hidden.
const ESCAPE_SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- It is what escape sequences begin with.
  /(?:[\x1b][\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:[\x07\x9c]|[\x1b]\\)|(?:[\x1b]\[|[\x9b])[0-?]*[ -/]*[@-~]|[\x1b][ -/]*[0-~]/g;

const LINE_BREAK = /[\u2028\u2029]/g;
const LONE_SURROGATE = /[\p{Cs}]/gu;

// Joiners and emoji selectors are judged by their neighbours, later; tags and all other selectors are not.
const INVISIBLE = /[^\P{Cc}\t\n]|(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

// A blank pattern is the space of Braille text, and nothing else.
const BRAILLE_BLANK = /(?<![\u2801-\u28ff])\u2800|\u2800(?![\u2801-\u28ff])/g;

// Joiners count as marks here: taking them out later must not make a longer run.
const SURPLUS_MARK = /(?<=[\p{M}\u200c\u200d]{8})[\p{M}\u200c\u200d]/gu;

const JOINER = /\u200c|\u200d|\ufe0e|\ufe0f/g;

// A joiner stays where writing needs it, singly between two emoji or two letters of Arabic, Syriac, Mongolian or Indic scripts; a selector behind an emoji.
function keepNeeded(joiner: string, offset: number, text: string): string {
  const before = text.slice(Math.max(0, offset - 3), offset);
  const after = text.slice(offset + 1, offset + 3);
  return isNeeded(joiner, before, after) ? joiner : '';
}

function isNeeded(joiner: string, before: string, after: string): boolean {
  if (joiner === '\u200c') return isInJoiningScript(before, after);
  if (joiner === '\u200d')
    return (ENDS_AS_PICTURE.test(before) && STARTS_AS_EMOJI.test(after)) || isInJoiningScript(before, after);
  return ENDS_AS_EMOJI.test(before) || (ENDS_AS_KEY.test(before) && after.startsWith('\u20e3'));
}

const ENDS_AS_PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?$/u;
const ENDS_AS_EMOJI = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u;
const STARTS_AS_EMOJI = /^[\p{Extended_Pictographic}]/u;
const ENDS_AS_KEY = /[\d#*]$/;

function isInJoiningScript(before: string, after: string): boolean {
  return (
    ENDS_AS_LETTER.test(before) &&
    STARTS_AS_LETTER.test(after) &&
    ENDS_IN_JOINING.test(before) &&
    STARTS_IN_JOINING.test(after)
  );
}

const ENDS_AS_LETTER = /[\p{L}\p{M}]$/u;
const STARTS_AS_LETTER = /^[\p{L}\p{M}]/u;
const ENDS_IN_JOINING =
  /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}]$/u;
const STARTS_IN_JOINING =
  /^[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}]/u;
