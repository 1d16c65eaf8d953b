/**
 * Removes everything invisible from text: escape sequences, controls, invisible and reordering characters, floods
 * of marks. Line breaks stay. Cleaning twice gives the same text as cleaning once, and the result is never
 * longer.
 */
export function cleanText(text: string): string {
  if (!BEYOND_PLAIN.test(text) || !isSuspect(text)) return text;
  // Nothing that is removed spans a newline, so clean lines are skipped.
  return text
    .split('\n')
    .map((line) => (isSuspect(line) ? cleanLine(line) : line))
    .join('\n');
}

/** Whether text is printable ASCII, tabs and newlines only: nothing to clean, and one byte per character. */
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

// A table, because the regular expressions behind it take ten times as long; text it accepts needs no cleaning.
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

// By code unit, filled in on first use: filling it at once would block for a tenth of a second.
const kinds = new Uint8Array(0x1_0000);

function kindOf(code: number): number {
  const known = kinds[code]!;
  return known === UNKNOWN ? (kinds[code] = readKind(code)) : known;
}

// A high surrogate stands for every character it can start; a low surrogate is only met alone when it is out of
// place.
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
  const rare = rareIn(line);
  let visible = line;
  if (rare & HAS_CONTROL) visible = visible.replaceAll(ESCAPE_SEQUENCE, '');
  if (rare & HAS_LINE_BREAK) visible = visible.replaceAll(LINE_BREAK, '\n');
  if (rare & HAS_SURROGATE) visible = visible.replaceAll(LONE_SURROGATE, '\ufffd');
  visible = visible.replaceAll(INVISIBLE, '');
  if (rare & HAS_BRAILLE_BLANK) visible = visible.replaceAll(BRAILLE_BLANK, '');
  const bounded = mayFlood(visible) ? withoutFloods(visible) : visible;
  return withoutNeedless(bounded);
}

const HAS_CONTROL = 1;
const HAS_LINE_BREAK = 2;
const HAS_SURROGATE = 4;
const HAS_BRAILLE_BLANK = 8;

// What a pattern has to look for: in tens of thousands of short texts, looking in vain takes most of the time.
function rareIn(line: string): number {
  let found = 0;
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code < 0xa0) found |= code < 0x20 || code > 0x7e ? HAS_CONTROL : 0;
    else if (code === 0x2028 || code === 0x2029) found |= HAS_LINE_BREAK;
    else if (code === 0x2800) found |= HAS_BRAILLE_BLANK;
    else if (code >= 0xd800 && code < 0xe000) found |= HAS_SURROGATE;
  }
  return found;
}

// Joiners count as marks here: removing them later must not make a longer run. A lookbehind per mark takes four
// times as long.
function withoutFloods(text: string): string {
  let kept = '';
  let from = 0;
  let marks = 0;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!;
    const next = at + (code > 0xffff ? 2 : 1);
    const isMark = code > 0x2ff && (traitsOf(code) & (IS_MARK | IS_JOINER)) !== 0;
    marks = isMark ? marks + 1 : 0;
    if (marks > MAX_MARKS) {
      kept += text.slice(from, at);
      from = next;
    }
    at = next;
  }
  return kept + text.slice(from);
}

// A lookbehind per character takes longer than all other steps together. Marks beyond the first plane are
// surrogate pairs, so all surrogates count.
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

// A control string must end within its line; otherwise only its opening is removed, so nothing stays hidden.
const ESCAPE_SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- It is what escape sequences begin with.
  /(?:[\x1b][\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:[\x07\x9c]|[\x1b]\\)|(?:[\x1b]\[|[\x9b])[0-?]*[ -/]*[@-~]|[\x1b][ -/]*[0-~]/g;

const LINE_BREAK = /[\u2028\u2029]/g;
const LONE_SURROGATE = /[\p{Cs}]/gu;

// Joiners and emoji selectors are judged later, by their neighbours; tags and all other selectors are removed
// here.
const INVISIBLE = /[^\P{Cc}\t\n]|(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

// The blank pattern is the space of Braille text, and is removed elsewhere.
const BRAILLE_BLANK = /(?<![\u2801-\u28ff])\u2800|\u2800(?![\u2801-\u28ff])/g;

// Keeps a joiner where writing needs it: one between two emoji or two letters of Arabic, Syriac, Mongolian or
// Indic scripts. Keeps a selector after an emoji.
function withoutNeedless(text: string): string {
  let kept = '';
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < ZERO_WIDTH_NON_JOINER || !JOINERS.has(code) || isNeeded(code, text, at)) continue;
    kept += text.slice(from, at);
    from = at + 1;
  }
  return from === 0 ? text : kept + text.slice(from);
}

function isNeeded(joiner: number, text: string, at: number): boolean {
  const before = traitsOf(codeBefore(text, at));
  const next = text.codePointAt(at + 1) ?? NOTHING;
  const after = traitsOf(next);
  if (joiner === ZERO_WIDTH_NON_JOINER) return isInJoiningScript(before, after);
  if (joiner === ZERO_WIDTH_JOINER) {
    const isBehindSelector = text.charCodeAt(at - 1) === EMOJI_SELECTOR;
    const picture = isBehindSelector ? traitsOf(codeBefore(text, at - 1)) : before;
    return ((picture & IS_EMOJI) !== 0 && (after & IS_PICTURE) !== 0) || isInJoiningScript(before, after);
  }
  return (before & IS_EMOJI) !== 0 || ((before & IS_KEY) !== 0 && next === KEYCAP);
}

function isInJoiningScript(before: number, after: number): boolean {
  return (before & after & IS_JOINING_LETTER) !== 0;
}

const NOTHING = 0;
const ZERO_WIDTH_NON_JOINER = 0x200c;
const ZERO_WIDTH_JOINER = 0x200d;
const TEXT_SELECTOR = 0xfe0e;
const EMOJI_SELECTOR = 0xfe0f;
const JOINERS = new Set([ZERO_WIDTH_NON_JOINER, ZERO_WIDTH_JOINER, TEXT_SELECTOR, EMOJI_SELECTOR]);
const KEYCAP = 0x20e3;

function codeBefore(text: string, offset: number): number {
  if (offset < 1) return NOTHING;
  const last = text.charCodeAt(offset - 1);
  const isPair = offset > 1 && isLowSurrogate(last) && isHighSurrogate(text.charCodeAt(offset - 2));
  return isPair ? text.codePointAt(offset - 2)! : last;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

const IS_KNOWN = 1;
const IS_MARK = 2;
const IS_JOINER = 4;
const IS_PICTURE = 8;
const IS_EMOJI = 16;
const IS_KEY = 32;
const IS_JOINING_LETTER = 64;

// By code point, filled in on first use; higher code points are rare and tested each time.
const traits = new Uint8Array(0x3_0000);

function traitsOf(code: number): number {
  const known = traits[code];
  if (known !== undefined && known !== 0) return known;
  const found = readTraits(String.fromCodePoint(code));
  if (known !== undefined) traits[code] = found;
  return found;
}

function readTraits(letter: string): number {
  const isJoining = LETTER.test(letter) && JOINING_SCRIPT.test(letter);
  return (
    IS_KNOWN |
    (MARKS.test(letter) ? IS_MARK : 0) |
    (letter === '\u200c' || letter === '\u200d' ? IS_JOINER : 0) |
    (PICTURE.test(letter) ? IS_PICTURE : 0) |
    (EMOJI.test(letter) ? IS_EMOJI : 0) |
    (KEY.test(letter) ? IS_KEY : 0) |
    (isJoining ? IS_JOINING_LETTER : 0)
  );
}

const PICTURE = /[\p{Extended_Pictographic}]/u;
const EMOJI = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]/u;
const KEY = /[\d#*]/;
const LETTER = /[\p{L}\p{M}]/u;
const JOINING_SCRIPT =
  /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}]/u;
