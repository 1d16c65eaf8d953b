import { jsonLimits } from '../../src/protocol/wire/json-scan.ts';
import { call, DONE, INVALID, SIZE, type WorstInput } from './worst-input.ts';
import { worstMembers } from './worst-members.ts';

const { values, keys, items, depth } = jsonLimits;
const ITEMS = values - 100;
const LENGTH = Math.floor(SIZE / ITEMS) - 1;
const NUL = String.raw`\u0000`;

// What a tool gets, cleans, and gives back cleaned.
const texts: readonly (readonly [kind: string, text: string])[] = [
  ['long text', 'a'.repeat(SIZE)],
  ['wide characters', '𝔘'.repeat(SIZE / 4)],
  ['hidden characters', '\u200b\u202e'.repeat(SIZE / 6)],
  ['combining marks', `a${'\u0301'.repeat(SIZE / 2 - 10)}`],
  ['joined emoji', '👩‍'.repeat(SIZE / 7 - 10)],
  ['variation selectors', 'a\ufe0f'.repeat(SIZE / 4 - 10)],
  ['tags', '\u{e0041}'.repeat(SIZE / 4 - 10)],
  ['secrets', 'ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa '.repeat(SIZE / 40)],
  ['almost tokens', 'eyJ.eyJ.'.repeat(SIZE / 8 - 10)],
  ['almost keys', '-----BEGIN PRIVATE KEY----- '.repeat(SIZE / 28 - 10)],
  ['almost numbers of cards', '4111 1111 1111 111 '.repeat(SIZE / 19 - 10)],
  ['almost patterns', `${'a@'.repeat(SIZE / 2 - 10)}!`],
  ['wrapped base64', 'QUFB\n'.repeat(SIZE / 6 - 10)],
];

const loads: readonly (readonly [kind: string, load: string])[] = [
  ['escapes', `"${String.raw`\u0041`.repeat(SIZE / 6)}"`],
  ['many numbers', list(ITEMS, () => '1')],
  ['long numbers', list(ITEMS, () => '1.797e308')],
  ['longest numbers', list(SIZE / 400, () => `0.${'7'.repeat(390)}`)],
  ['long integers', list(ITEMS, () => '12345678901234567')],
  ['long integers below keys', groups(36_000).replaceAll(/:1\b/g, ':12345678901234567')],
  ['many texts', list(ITEMS, () => JSON.stringify('b'.repeat(LENGTH - 3)))],
  ['many objects', list(ITEMS / 2 - 1, (index) => `{"a${index}":1}`)],
  ['many keys', objectOf(keys - 1, (index) => `k${index}`)],
  ['long keys', objectOf(keys - 1, (index) => `${index}${'k'.repeat(SIZE / keys - 20)}`)],
  ['escaped keys', objectOf(keys - 1, (index) => `${index}${String.raw`\u0041`.repeat(150)}`)],
  ['colliding keys', objectOf(keys - 1, (index) => `${index * 65_536}`)],
  ['objects of many keys', groups(ITEMS - 100)],
  ['objects of colliding keys', groups(ITEMS - 100, (index) => `${index * 65_536}`)],
  ['deep nesting', `${'['.repeat(30)}${']'.repeat(30)}`],
];

// Each is checked against one keyword of a schema.
const checked: readonly (readonly [kind: string, args: string, shows?: RegExp])[] = [
  ['distinct objects', `"unique":[${objects((index) => `{"a":${index},"b":"${'x'.repeat(70)}"}`)}]`],
  ['distinct objects with many keys', `"unique":[${objects((index) => `{"a":1,"b":2,"c":3,"d":${index}}`)}]`],
  ['distinct lists', `"unique":[${objects((index) => `[1,2,${index}]`)}]`],
  ['distinct texts', `"unique":[${objects((index) => `"${'x'.repeat(80)}${index}"`)}]`],
  ['a text against a pattern', `"matched":"${'a'.repeat(SIZE - 1)}!"`, /must match/],
  ['many choices', `"choices":[${objects((index) => `{"b":${index}}`)}]`],
  ['keys against a pattern', `"named":${objectOf(keys - 1, (index) => `k${'1'.repeat(900)}${index}`)}`],
];

// Each fails a schema of a library, or a part of it, as often as it can.
const typed: readonly (readonly [kind: string, args: string, shows?: RegExp])[] = [
  ['values outside a union', `"union":${list(ITEMS, () => '1')}`],
  ['values outside an intersection', `"both":${list(ITEMS, () => '{}')}`],
  ['objects without their members', `"wide":${list(ITEMS, () => '{}')}`],
  ['values that fail a refinement', `"refined":${list(ITEMS, () => '1')}`],
  ['values with ten problems each', `"refinedOften":${list(ITEMS, () => '1')}`],
  ['values that fail the refinements of a union', `"refinedBranches":${list(ITEMS, () => '1')}`],
  ['values that fail the refinements of an intersection', `"refinedSides":${list(ITEMS, () => '1')}`],
  ['texts that fail three checks', `"refinedTexts":${list(ITEMS, () => '"x"')}`],
  ['members that fail a refinement', `"refinedMembers":${groups(ITEMS - 100)}`],
  ['objects of the last branch of a union', `"lastBranch":${list(ITEMS, () => '{}')}`, DONE],
  ['numbers of the last branch of a union', `"lastRefined":${list(ITEMS, () => '1')}`, DONE],
  ['objects whose members are all replaced', `"replaced":${list(ITEMS, () => '{}')}`, DONE],
  ['values that fail after preprocessing', `"prepared":${list(ITEMS, () => '{}')}`],
  // The last, because Zod's quicker checks are not used once one had to wait.
  ['values that fail an async refinement', `"refinedLater":${list(ITEMS, () => '1')}`],
];

// Each fails a part of a schema of a library that takes long to note a problem, or is replaced by it.
const noted: readonly (readonly [kind: string, tool: string, args: string, shows?: RegExp])[] = [
  ['values that a function of the author refuses', 'noted', `"narrowed":${list(ITEMS, () => '1')}`],
  ['texts that match none of three patterns', 'noted', `"patterns":${list(ITEMS, () => '"x"')}`],
  ['texts of none of four formats', 'noted', `"formats":${list(ITEMS, () => '"x"')}`],
  ['objects of neither of two kinds', 'noted', `"branches":${list(ITEMS / 2 - 1, () => '{"a":"x"}')}`],
  ['values that fail after conversion', 'turned', `"numbers":${list(ITEMS, () => '"x"')}`],
  ['values that are converted', 'turned', `"numbers":${list(ITEMS, () => '"2"')}`, DONE],
  ['objects whose members are all filled in', 'turned', `"filled":${list(ITEMS, () => '{}')}`, DONE],
];

// Their hash was once the same however many there were.
const nulKeys = objectOf(550, (index) => NUL.repeat(index + 1));

const refused: readonly (readonly [kind: string, load: string, shows: RegExp])[] = [
  ['keys of NUL characters', nulKeys, /control character/],
  ['a key twice', objectOf(keys - 1, (index) => `k${index % (keys - 2)}`), /repeats a key/],
  ['nesting beyond the limit', '['.repeat(SIZE / 2) + ']'.repeat(SIZE / 2), /nested deeper/],
  ['brackets without an end', '[{"a":'.repeat(depth), /nested deeper/],
];

const byThemselves: readonly WorstInput[] = [
  ...texts.map(([kind, text]) => call({ kind, tool: 'mirror', args: `"load":${JSON.stringify(text)}` })),
  ...loads.map(([kind, load]) => call({ kind, tool: 'echo', args: `"load":${load}` })),
  ...checked.map(([kind, args, shows = DONE]) => call({ kind, tool: 'strict', args, shows })),
  ...typed.map(([kind, args, shows = INVALID]) => call({ kind, tool: 'typed', args, shows })),
  ...noted.map(([kind, tool, args, shows = INVALID]) => call({ kind, tool, args, shows })),
  ...[0, 1, 2].map((index) =>
    call({
      kind: `the first call of large schema ${index}`,
      tool: `large${index}`,
      args: '"p0":1',
      shows: INVALID,
    }),
  ),
  ...refused.map(([kind, load, shows]) => call({ kind, tool: 'echo', args: `"load":${load}`, shows })),
];

// Their answers are short, so that what takes time is the request.
const BESIDE_A_STREAM = new Set([
  'escapes',
  'many objects',
  'longest numbers',
  'distinct objects',
  'values that are converted',
]);

/** The worst of each kind that a message may be. */
export const worstInputs: readonly WorstInput[] = [
  ...byThemselves,
  ...worstMembers,
  ...byThemselves.filter(({ kind }) => BESIDE_A_STREAM.has(kind)).map(besideStream),
];

function besideStream({ kind, body, shows }: WorstInput): WorstInput {
  const plain = Buffer.from(body.toString().replace(/"_meta":.*?\}\},/, ''));
  return { kind: `${kind}, beside a stream`, body: plain, headers: {}, shows, on: 'stream' };
}

function objectOf(length: number, key: (index: number) => string): string {
  return `{${Array.from({ length }, (_, index) => `"${key(index)}":${index}`).join(',')}}`;
}

function objects(item: (index: number) => string): string {
  return Array.from({ length: items - 10 }, (_, index) => item(index)).join(',');
}

function groups(length: number, key = (index: number): string => `k${index}`): string {
  const group = objectOf(keys - 1, key).replaceAll(/:\d+/g, ':1');
  return `[${Array(Math.floor(length / keys))
    .fill(group)
    .join(',')}]`;
}

// A list may have only so many items, but may hold lists.
function list(length: number, item: (index: number) => string): string {
  const lists: string[] = [];
  for (let from = 0; from < length; from += items) {
    const size = Math.min(items, Math.floor(length - from));
    lists.push(`[${Array.from({ length: size }, (_, index) => item(from + index)).join(',')}]`);
  }
  return `[${lists.join(',')}]`;
}
