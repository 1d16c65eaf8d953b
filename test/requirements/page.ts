import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor, type Expression } from 'oxc-parser';
import { documents, inPart, notYet, onPurpose } from './statements.ts';

const root = join(import.meta.dirname, '../..');
const WIDTH = 120;

interface Proof {
  readonly file: string;
  readonly title: string;
}

/** Makes docs/requirements.md, and lists what is wrong with titles and statements. */
export function requirementsPage(): { readonly text: string; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const proofs = new Map<string, Proof[]>();
  for (const file of testFiles()) {
    for (const { title, isTest } of titlesIn(file)) {
      const ids = title.match(/\b00\d-\d\d\b/g) ?? [];
      if (ids.length === 0) continue;
      if (!isTest) problems.push(`${file}: a describe proves nothing; name ${ids.join(', ')} on tests`);
      const [, words = title, atEnd] = /^(.*) \((00\d-\d\d(?:, 00\d-\d\d)*)\)$/s.exec(title) ?? [];
      if (atEnd?.split(', ').length !== ids.length)
        problems.push(`${file}: '${title}' must end with its ids, like (000-01, 001-01)`);
      for (const id of ids) proofs.set(id, [...(proofs.get(id) ?? []), { file, title: words }]);
    }
  }
  return { text: textOf(proofs), problems: [...problems, ...wrongIds(proofs)] };
}

function wrongIds(proofs: ReadonlyMap<string, readonly Proof[]>): string[] {
  const known = new Set(documents.flatMap(({ statements }) => Object.keys(statements)));
  const named = [...proofs.keys(), ...[notYet, inPart, onPurpose].flatMap(Object.keys)];
  return [
    ...named.filter((id) => !known.has(id)).map((id) => `${id} has no statement`),
    ...[...known]
      .filter((id) => !proofs.has(id) && !(id in notYet))
      .map((id) => `${id} has no test and is not in notYet`),
    ...Object.keys(notYet)
      .filter((id) => proofs.has(id))
      .map((id) => `${id} has a test: take it out of notYet, or move it to inPart`),
    ...Object.keys(inPart)
      .filter((id) => !proofs.has(id))
      .map((id) => `${id} has no test: move it from inPart to notYet`),
  ];
}

function textOf(proofs: ReadonlyMap<string, readonly Proof[]>): string {
  const ids = documents.flatMap(({ statements }) => Object.keys(statements));
  const proven = ids.filter((id) => proofs.has(id));
  const partly = proven.filter((id) => id in inPart);
  const intro = `Toolcrib was made from five documents about tools for models. This page has each requirement in one sentence,
with the tests that prove it. Of ${ids.length} requirements, ${proven.length - partly.length} are proven by tests,
${partly.length} are proven in part, and ${ids.length - proven.length} are not met yet.`;
  const note = `Written by \`npm run requirements\` from \`test/requirements/statements.ts\` and from the titles of tests,
which end with the ids that they prove. "…" stands for the cases of a table.`;
  const sections = documents.map(({ title, statements }) => {
    const entries = Object.entries(statements).map(([id, says]) => entryOf(id, says, proofs.get(id) ?? []));
    return `## ${title}\n\n${entries.join('\n')}\n`;
  });
  return ['# Requirements\n', `${wrap(intro)}\n`, `${wrap(note)}\n`, ...sections].join('\n');
}

function entryOf(id: string, says: string, proofs: readonly Proof[]): string {
  const lines = [
    `- **${id}** ${says}`,
    id in notYet ? `  - Not yet: ${notYet[id]}.` : '',
    id in inPart ? `  - Still missing: ${inPart[id]}.` : '',
    id in onPurpose ? `  - Differs on purpose: ${onPurpose[id]}.` : '',
    ...proofs.map(({ file, title }) => `  - \`${file}\`: ${shown(title)}`),
  ];
  return lines
    .filter((line) => line !== '')
    .map((line) => wrap(line, line.startsWith('  ') ? '    ' : '  '))
    .join('\n');
}

function shown(title: string): string {
  return title.replaceAll(/%[sjid]|\$\w+/g, '…').replaceAll(/[*<]/g, String.raw`\$&`);
}

function wrap(text: string, indent = ''): string {
  const lines: string[] = [];
  let line = /^ */.exec(text)![0];
  for (const word of text.trim().split(/\s+/)) {
    if (line.trim() !== '' && line.length + word.length + 1 > WIDTH) {
      lines.push(line);
      line = indent;
    }
    line += line.trim() === '' ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
}

function testFiles(): string[] {
  return ['src', 'test', 'examples']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name.replaceAll('\\', '/')}`,
      ),
    )
    .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
    .toSorted();
}

function titlesIn(file: string): { readonly title: string; readonly isTest: boolean }[] {
  const text = readFileSync(join(root, file), 'utf8');
  if (!/\b00\d-\d\d\b/.test(text)) return [];
  const titles: { title: string; isTest: boolean }[] = [];
  new Visitor({
    CallExpression: ({ callee, arguments: [first] }) => {
      const name = rootOf(callee);
      if (first === undefined || (name !== 'test' && name !== 'it' && name !== 'describe')) return;
      const title =
        first.type === 'Literal'
          ? first.value
          : first.type === 'TemplateLiteral'
            ? first.quasis.map(({ value }) => value.cooked).join('…')
            : undefined;
      if (typeof title === 'string') titles.push({ title, isTest: name !== 'describe' });
    },
  }).visit(parseSync(file, text).program);
  return titles;
}

/** The first name of a call such as `test.each(table)`. */
function rootOf(callee: Expression): string | undefined {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return rootOf(callee.object);
  return callee.type === 'CallExpression' ? rootOf(callee.callee) : undefined;
}
