import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { cleanText, isPlainText } from './clean-text.ts';

const legitimate = [
  'Plain text,\twith a tab\nand a line break.',
  '👩‍👩‍👧‍👦 ❤️ 🏳️‍🌈 1️⃣ #️⃣ 👍🏽 🇩🇪 ☎︎ 👩🏽‍⚕️ 🧑‍🤝‍🧑 ❤️‍🔥 ©️ 🏴',
  'مرحبا بالعالم، كَيْفَ حَالُكَ؟',
  'می‌خواهم کتاب‌ها را بخوانم',
  'नमस्ते दुनिया, क्‍ष और क्‌ष',
  'ශ්‍රී ලංකාව',
  'বাংলা র‍্যাব',
  '日本語の文章、한국어 문장, 中文。',
  'שָׁלוֹם עוֹלָם',
  'สวัสดีชาวโลก น้ำ',
  'Ünïcödé, e\u0301 a\u0308 naïve Việt Nam',
  '⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙',
  '𝒻𝑜𝓃𝓉𝓈 𠮷野家 𐍈',
];

test.each(legitimate)('C7 legitimate text stays unchanged: %s', (text) => {
  expect(cleanText(text)).toBe(text);
});

test.each<[what: string, text: string, clean: string]>([
  ['colours', 'a\u001b[1;31mred\u001b[0mb', 'aredb'],
  ['eight-bit colours', 'a\u009b31mred\u009b0mb', 'aredb'],
  ['a hidden link', '\u001b]8;;https://evil.example\u001b\\here\u001b]8;;\u001b\\', 'here'],
  ['a clipboard write', 'a\u001b]52;c;aGVsbG8=\u0007b', 'ab'],
  ['an eight-bit clipboard write', 'a\u009d52;c;aGVsbG8=\u009cb', 'ab'],
  ['a device control string', 'a\u001bPq#0;2;0;0;0\u001b\\b', 'ab'],
  ['an eight-bit device control string', 'a\u0090payload\u009cb', 'ab'],
  ['an application command', 'a\u001b_payload\u001b\\b\u009fpayload\u009cc', 'abc'],
  ['a charset switch and a reset', 'a\u001b(Bb\u001bcc', 'abc'],
  [
    'a string that never ends, which is shown',
    'a\u009dnot a terminal string\nb',
    'anot a terminal string\nb',
  ],
  ['nested sequences', '\u001b[\u001b[31m31mx', '31mx'],
  ['other controls', 'a\0\b\u0007\u000b\u000c\u007f\u0085b', 'ab'],
  ['line ends', 'a\r\nb\rc\u2028d\u2029e', 'a\nbc\nd\ne'],
  ['tags', `a${tagged('secret')}b`, 'ab'],
  ['a flag with tags', `🏴${tagged('gbeng')}\u{e007f}`, '🏴'],
  ['bidi controls', 'a\u202e\u2066\u200f\u061cb\u2069', 'ab'],
  ['zero-width characters', 'a\u200b\u200c\u200d\u2060\ufeff\u00adb', 'ab'],
  ['Hangul fillers', 'a\u115f\u1160\u3164\uffa0b', 'ab'],
  ['a grapheme joiner', 'a\u034fb', 'ab'],
  ['interlinear annotations', 'a\ufff9b\ufffac\ufffbd', 'abcd'],
  ['blank patterns', 'a\u2800\u2800\u2800b \u2800 ⠓\u2800\u2800⠑', 'ab  ⠓⠑'],
  ['half characters', 'a\ud83db\udc4dc', 'a\ufffdb\ufffdc'],
  ['selectors behind letters', 'a\ufe0fb\ufe00c\u{e0100}d', 'abcd'],
  ['more than one selector', '❤\ufe0f\ufe0f\ufe0e!', '❤\ufe0f!'],
  ['a selector behind a digit', '1\ufe0f2', '12'],
  ['joiners without neighbours', '👩\u200d \u200d👩 a\u200db م\u200c م\u200c\u200cم', '👩 👩 ab م مم'],
])('C7 a text with %s is cleaned (003-19)', (_what, text, clean) => {
  expect(cleanText(text)).toBe(clean);
});

test('C7 a long run of combining marks is cut to eight', () => {
  expect(cleanText(`a${'\u0301'.repeat(10_000)}b`)).toBe(`a${'\u0301'.repeat(8)}b`);
  expect(cleanText(`a${'\u0301\u0302\u200d'.repeat(3_000)}b`).length).toBeLessThanOrEqual(10);
});

test('C7 of all characters, exactly the hidden ones are removed', () => {
  const hidden = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/u;
  const kept = new Set<string>();
  for (let code = 0; code <= 0x10_ffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const letter = String.fromCodePoint(code);
    if (hidden.test(letter) === (cleanText(`a${letter}b`) === `a${letter}b`)) kept.add(letter);
  }
  expect([...kept]).toEqual(['\t', '\n']);
});

const fragments = [
  '\u001b \u001b[ \u001b]8;; \u009b \u009d \u0090 \u0007 \u001b\\ \u009c \u200d \u200c \ufe0f \ufe0e \u{e0041} \u{e0100}',
  '\u2800 ⠓ 👩 🏽 ❤ 1 \u20e3 \u0301 \u064e \u094d م क \r \n \u2028 \ud83d \udc4d m 31 \u064e\u200c \u3164 \u202e',
  '\u0301'.repeat(9),
].flatMap((list) => list.split(' '));
const pieces = fc.oneof(
  fc.constantFrom(...legitimate),
  fc.constantFrom(...fragments),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
);
const hostile = fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(''));

test('C7 cleaned text stays the same when cleaned again, is never longer and has nothing hidden', () => {
  const hidden = /[^\P{Cc}\t\n]|(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cf}\p{DI}\p{Cs}\u2028\u2029]|\p{M}{9}/u;
  fc.assert(
    fc.property(hostile, (text) => {
      const clean = cleanText(text);
      expect(cleanText(clean)).toBe(clean);
      expect(clean.length).toBeLessThanOrEqual(text.length);
      expect(clean).not.toMatch(hidden);
    }),
    { numRuns: propertyRuns() },
  );
});

test('plain text is recognised', () => {
  expect(isPlainText('Plain, with\ttab and\nline.')).toBe(true);
  for (const text of ['é', '\u001b', '\r', '\u007f', '\0']) expect(isPlainText(text)).toBe(false);
});

function tagged(text: string): string {
  return Array.from(text, (letter) => String.fromCodePoint(0xe_0000 + letter.charCodeAt(0))).join('');
}
