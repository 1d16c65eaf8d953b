import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chainOfTenant } from '../../src/stages/record/audit-row.ts';
import { openSecrets } from '../../src/store/secrets-file.ts';
import { cli } from './child.ts';
import { deployment } from './cli-deployment.ts';
import type { Run } from './run-command-line.ts';

describe('toolcrib audit', () => {
  test('tail, search and export show rows by tenant, caller, tool, outcome and time', async () => {
    const { run, rows, call } = deployment();
    await call([
      ['acme', 'ada', 'look'],
      ['acme', 'bob', 'look'],
      ['other', 'ada', 'spy'],
    ]);
    const { output } = await run('audit', 'tail');
    expect(output.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^TIME +TENANT +CALLER +KIND +WHAT +RULE +OUTCOME +MS$/),
      expect.stringMatching(/^20\S+Z +acme +ada +call +look +- +unknown_tool +[\d.]+$/),
    ]);
    expect(await rows('--tenant', 'acme')).toMatchObject([{ caller: 'ada' }, { caller: 'bob' }]);
    expect(await rows('--caller', 'ada')).toMatchObject([{ tool: 'look' }, { tool: 'spy' }]);
    expect(await rows('--tool', 'spy')).toMatchObject([{ chain: 'other', seq: 1, tenant: 'other' }]);
    expect(await rows('--outcome', 'done')).toEqual([]);
    expect(await rows('--since', '1h')).toHaveLength(3);
    expect(await rows('--until', '2020-01-01T00:00Z')).toEqual([]);
    expect(await rows('--limit', '1')).toMatchObject([{ tool: 'look', caller: 'ada' }]);
    const newest = await run('audit', 'search', '--json', '--limit', '1');
    expect(JSON.parse(newest.output)).toMatchObject({ tool: 'spy' });
    expect((await run('audit', 'search', '--tool', 'none')).output).toBe('No rows match.\n');
    expect((await run('audit', 'tail', '--limit', '0')).code).toBe(1);
    expect((await run('audit', 'tail', '--since', 'then')).complaints).toContain('--since takes a time');
  }, 60_000);

  test('operator actions are shown with who did them and what they changed', async () => {
    const { run, write } = deployment();
    await run('tenants', 'create', 'acme');
    await run('keys', 'create', '--tenant', 'acme', '--caller', 'ada');
    const about = { approval: 'apr_1', tenant: 'acme', caller: 'ada', tool: 'wipe', by: 'grace' };
    await write(
      ['call approved', 'call denied'].map((did) => ['@operator', { kind: 'operator', did, ...about }]),
    );
    const shown = tableIn((await run('audit', 'tail', '--operator')).output);
    expect(shown.map(({ TENANT, CALLER, WHAT }) => [TENANT, CALLER, WHAT])).toEqual([
      ['acme', expect.stringMatching(/^\S/), 'tenant created'],
      ['acme', expect.stringMatching(/^\S/), expect.stringMatching(/^key created: key_\w+$/)],
      ['acme', 'grace', 'call approved: wipe'],
      ['acme', 'grace', 'call denied: wipe'],
    ]);
  }, 60_000);

  test('operator actions can be searched by tenant, by operator and by the caller they are about', async () => {
    const { run, rows, write } = deployment();
    const did = (by: string, tenant: string): [string, object] => [
      '@operator',
      { kind: 'operator', did: 'key created', by, tenant, caller: 'ada' },
    ];
    await write([
      did('uid 0', 'acme'),
      did('grace', 'acme'),
      did('uid 0', 'other'),
      ['acme', { kind: 'call', tenant: 'acme', caller: 'grace', tool: 'look' }],
    ]);
    const shown = tableIn((await run('audit', 'tail', '--operator', '--tenant', 'acme')).output);
    expect(shown.map(({ TENANT, CALLER }) => [TENANT, CALLER])).toEqual([
      ['acme', 'uid 0'],
      ['acme', 'grace'],
    ]);
    expect(await rows('--caller', 'uid 0')).toMatchObject([{ tenant: 'acme' }, { tenant: 'other' }]);
    expect(await rows('--caller', 'grace')).toMatchObject([{ kind: 'operator' }, { kind: 'call' }]);
    expect(await rows('--caller', 'ada')).toHaveLength(3);
    expect(await rows('--tenant', 'acme')).toMatchObject([{ kind: 'call' }]);
  }, 60_000);

  test('a row without a tenant is shown under the tenant of its chain', async () => {
    const { run, write } = deployment();
    const outcome = { kind: 'outcome', call: '1.a-1', tool: 'pay', outcome: 'done' };
    const chains = ['acme', chainOfTenant('Acme & Söhne'), chainOfTenant('@operator'), '@operator', '%zz'];
    await write(chains.map((chain) => [chain, outcome]));
    const tenants = ['acme', 'Acme & Söhne', '@operator', '', '%zz'];
    const shown = async (command: string): Promise<unknown[]> =>
      tableIn((await run('audit', command)).output).map(({ TENANT }) => TENANT);
    expect(await shown('tail')).toEqual(tenants);
    expect(await shown('search')).toEqual(tenants.toReversed());
  }, 60_000);

  test('the rule that decided is shown, and lines fit a usual terminal', async () => {
    const { run, write } = deployment();
    const who = {
      tenant: 'acme-corp',
      caller: 'ada.lovelace',
      client: 'inspector/2.1',
      tool: 'query_database',
    };
    await write([
      [
        'acme-corp',
        { kind: 'call', ...who, decision: 'allowed', outcome: 'done', rule: 'access[12]', ms: 43.244 },
      ],
      ['acme-corp', { kind: 'call', ...who, decision: 'refused', outcome: 'approval_required', ms: 1.198 }],
      ['acme-corp', { kind: 'intent', call: '1.a-1', ...who, decision: 'allowed', rule: 'access[0]' }],
    ]);
    const { output } = await run('audit', 'tail');
    expect(tableIn(output).map(({ RULE }) => RULE)).toEqual(['access[12]', '-', 'access[0]']);
    for (const line of output.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  }, 60_000);

  test('grouped rows are listed by their time among the newest rows', async () => {
    const { run, write } = deployment();
    const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;
    const row = (tool: string, second?: number): [string, object] => [
      'acme',
      { kind: 'call', tool, ...(second !== undefined && { at: at(second) }) },
    ];
    await write([row('a', 1), row('b', 3), row('c', 3), row('damaged'), row('gathered', 2), row('d', 4)]);
    const shown = async (...args: string[]): Promise<unknown[]> =>
      tableIn((await run('audit', ...args)).output).map(({ WHAT }) => WHAT);
    const all = ['a', 'gathered', 'b', 'c', 'damaged', 'd'];
    expect(await shown('tail')).toEqual(all);
    expect(await shown('search')).toEqual(all.toReversed());
    expect(await shown('tail', '--limit', '2')).toEqual(['gathered', 'd']);
    expect(await shown('tail', '--limit', '4')).toEqual(['gathered', 'c', 'damaged', 'd']);
  }, 60_000);

  test('an export as CSV has all fields of the rows, in the documented columns', async () => {
    const { run, rows, write, call } = deployment();
    await call([['acme', 'ada', 'look']]);
    await run('tenants', 'create', 'acme');
    const key = ['--tenant', 'acme', '--caller', 'ada', '--role', 'admin', '--scope', 'metrics'];
    await run('keys', 'create', ...key);
    const at = '2026-01-01T00:00:00.000Z';
    const facts = { client: 'c/1', protocol: '2026-07-28', preview: '{}', trace: 't', approval: 'apr_1' };
    const decision = { did: 'call approved', approval: 'apr_1', uid: 0, by: 'root' };
    await write([
      ['acme', { at, kind: 'call', ...facts }],
      ['acme', { at, kind: 'call', resource: 'r', uri: 'file:///r', from: 'cache', rule: 'access[0]' }],
      ['@operator', { at, kind: 'operator', ...decision }],
      ['@operator', { at, kind: 'gap', reason: 'SQLITE_FULL', refused: 3 }],
      ['@operator', { at, kind: 'cut', checkpoint: 2, upTo: 17, days: 90 }],
    ]);
    const { output } = await run('audit', 'export', '--format', 'csv');
    const [columns = [], ...cells] = output.split('\r\n').slice(0, -1).map(readCells);
    const said = cells.map((line) =>
      withoutBlanks(line.map((cell, index) => [columns[index]!, cell.replace(/^'/, '')])),
    );
    expect(said).toEqual((await rows()).map((row) => withoutBlanks(Object.entries(row))));
    const page = readFileSync(join(import.meta.dirname, '../../docs/record.md'), 'utf8');
    const documented = /A CSV export has a column[^`]*```\n([^`]+)```/.exec(page);
    expect(documented?.[1]?.trim().split(/,\s+/)).toEqual(columns);
  }, 60_000);

  test('verify reports what is good and what it cannot prove, and exits with 1 when a row is bad', async () => {
    const { run, json, call, change } = deployment();
    await call([
      ['acme', 'ada', 'look'],
      ['acme', 'ada', 'touch'],
    ]);
    expect(await run('audit', 'verify')).toMatchObject({
      code: 0,
      output:
        'The record is good: 2 rows in 1 chain, 1 signed checkpoint.\nEvery row is covered by a signed checkpoint.\n',
    });
    expect(await json('audit', 'verify')).toMatchObject({ rows: 2, chains: 1, checkpoints: 1, unproven: 0 });
    change((db) => db.run("update journal set rows = replace(rows, 'touch', 'torch')"));
    const { code, output } = await run('audit', 'verify');
    expect({ code, output }).toEqual({
      code: 1,
      output: 'The record was tampered with or damaged.\n  acme, row 2: The row was changed.\n',
    });
    const verdict = await run('audit', 'verify', '--json');
    expect(verdict.code).toBe(1);
    expect(JSON.parse(verdict.output)).toMatchObject({ problem: { chain: 'acme', seq: 2 } });
    // A damaged row is shown all the same.
    change((db) => db.run("update journal set rows = replace(rows, '{', 'x')"));
    expect((await run('audit', 'tail')).code).toBe(0);
  }, 60_000);

  test('a database file that is corrupt is reported in one line', async () => {
    const { run, place } = deployment();
    openSecrets(place('secrets'));
    writeFileSync(place('db'), 'Dear diary, '.repeat(1_000));
    const { code, complaints } = await run('audit', 'tail');
    expect(code).toBe(1);
    expect(complaints).toMatch(/^toolcrib: \S+toolcrib\.db cannot be opened as a database: [^\n]+\n$/);
  });

  test.skipIf(process.getuid?.() !== 0)('files of another account are reported with what to do', async () => {
    const { folder, call, place } = deployment();
    await call([['acme', 'ada', 'look']]);
    chmodSync(folder, 0o755);
    const asAnother = (...words: readonly string[]): string => {
      const args = [cli, ...words, '--config', join(folder, 'toolcrib.yaml')];
      // Linux opens this Node by its process, even where its folder is closed to other accounts.
      const node = existsSync('/proc/self/exe') ? '/proc/self/exe' : process.execPath;
      return spawnSync(node, args, { uid: 65_534, gid: 65_534, encoding: 'utf8', timeout: 20_000 }).stderr;
    };
    const advice =
      /^toolcrib: [^\n]+; run this as the account that the server runs as, which owns the file\.?\n$/;
    expect(asAnother('audit', 'tail')).toMatch(advice);
    chmodSync(folder, 0o777);
    chmodSync(place('db'), 0o666);
    expect(asAnother('keys', 'list')).toMatch(advice);
  });

  test('verify does not create missing secrets: it reports the missing file', async () => {
    const { run, call, folder } = deployment();
    await call([['acme', 'ada', 'look']]);
    rmSync(join(folder, 'toolcrib.secrets'));
    const { code, complaints } = await run('audit', 'verify');
    expect(code).toBe(1);
    expect(complaints).toContain('restore the secrets from a backup');
    expect(readdirSync(folder)).not.toContain('toolcrib.secrets');
  });

  test.each([
    ["update journal set rows = x'41' where id = 1", 'Group 1 of the record is not text.', 'Group 1 of'],
    ["update journal set rows = cast(x'ff' as text)", 'Group 1 of the record is not text.', 'Group '],
    ['drop table journal', 'The table "journal" is missing.', 'The table "journal" is missing.'],
    ['drop table checkpoints', 'The table "checkpoints" is missing.', undefined],
    ['drop table heads', 'The table "heads" is missing.', undefined],
  ])(
    'E1 after "%s", verify gives a verdict and no command prints a stack trace',
    async (sql, verdict, complaint) => {
      const { run, call, change } = deployment();
      await call([
        ['acme', 'ada', 'look'],
        ['acme', 'ada', 'touch'],
      ]);
      change((db) => db.run(sql));
      expectDamage(await run('audit', 'verify'), verdict);
      for (const command of ['tail', 'search', 'export']) {
        const { code, complaints } = await run('audit', command);
        expect(code).toBe(complaint === undefined ? 0 : 1);
        if (complaint === undefined) continue;
        expect(complaints).toMatch(/^toolcrib: [^\n]+toolcrib audit verify\n$/i);
        expect(complaints).toContain(complaint);
      }
    },
    60_000,
  );

  test('E1 overwritten pages lead to a verdict of one line, wherever they are', async () => {
    const { run, call, change, folder } = deployment();
    await call([['acme', 'ada', 'look']]);
    change((db) => db.get('pragma wal_checkpoint(truncate)'));
    const file = join(folder, 'toolcrib.db');
    const whole = readFileSync(file);
    for (const page of [0, 1, 2]) {
      const at = page * PAGE_BYTES;
      writeFileSync(file, Buffer.from(whole).fill(0xa5, at, at + PAGE_BYTES));
      expectDamage(await run('audit', 'verify'), 'The file is damaged: ');
    }
    writeFileSync(file, whole.fill(0xa5, PAGE_BYTES, 2 * PAGE_BYTES));
    const { code, complaints } = await run('audit', 'tail');
    expect(code).toBe(1);
    expect(complaints).toMatch(/^toolcrib: [^\n]+ Run: toolcrib audit verify\n$/);
  }, 60_000);

  test('readable rows are shown beside a group that cannot be read', async () => {
    const { run, call, change } = deployment();
    await call([
      ['acme', 'ada', 'look'],
      ['acme', 'ada', 'touch'],
    ]);
    change((db) => db.run("update journal set rows = x'41' where id = 1"));
    expect(await run('audit', 'tail')).toEqual({
      code: 1,
      output: expect.stringMatching(/^TIME [^\n]+\n[^\n]+ touch [^\n]+\n$/),
      complaints: 'toolcrib: Group 1 of the record is damaged and not shown; run: toolcrib audit verify\n',
    });
  }, 60_000);

  test('E1 a missing checkpoint copy is named and is not success; a record without any copy is reported as damaged', async () => {
    const { run, call, folder, place } = deployment(
      'stages: { audit: { checkpoints: [./toolcrib.checkpoints, ./added] } }\n',
    );
    await call([['acme', 'ada', 'look']]);
    // A crash can fall between the first checkpoint and its copies, so one alone shows nothing yet.
    await call([['acme', 'ada', 'look']]);
    const { code, output } = await run('audit', 'verify');
    expect(code).toBe(1);
    expect(output).toMatch(/^The record is good: /);
    expect(output).toContain(
      `Warning: the copy ${join(folder, 'added')} does not exist. If you have just added it, restart the server`,
    );
    rmSync(place('checkpoints'));
    const without = await run('audit', 'verify');
    expect(without).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^The record was tampered with/),
    });
    expect(without.output).toContain(place('checkpoints'));
  }, 60_000);

  test('E2 no cell of an export is a formula, and each row is one line', async () => {
    const { run, call } = deployment();
    const names = ['=cmd|calc!A1', '+1', '-1', '@sum', ' =1', '＝1', 'a,"b"', 'a;=1', 'a\r\n=1', '\t=1'];
    await call(names.map((name) => ['acme', 'ada', name]));
    const { output } = await run('audit', 'export', '--format', 'csv');
    const lines = output.split('\r\n');
    expect(lines).toHaveLength(names.length + 2);
    expect(lines[0]).toMatch(/^at,tenant,caller,kind,tool,decision,outcome,ms,/);
    const cells = lines.slice(1, -1).map((line) => readCells(line)[4]!);
    for (const cell of cells) expect(cell).not.toMatch(/^\s*[=+\-@＝]/);
    expect(cells[0]).toBe("'=cmd|calc!A1");
    expect(cells[6]).toBe('a,"b"');
    expect(output.replaceAll('\r\n', '')).not.toMatch(/[\r\n\t]/);
  }, 60_000);

  test('E2 no name given to a command reaches the terminal as an escape sequence', async () => {
    const { run } = deployment();
    await run('tenants', 'create', 'acme');
    const name = 'e\u001b[31m\u202ey\u{e0041}';
    const create = ['keys', 'create', '--tenant', 'acme', '--caller', name];
    const commands = [
      create,
      [...create, '--json'],
      ['keys', 'list', '--json'],
      ['tenants', 'create', 'acme', '--name', name, '--json'],
      ['tenants', 'list', '--json'],
      ['tenants', 'create', name],
      ['tenants', 'disable', name],
      ['keys', 'revoke', name],
      ['audit', 'tail', '--since', name],
      ['check', '--config', `./${name}`],
      ['keys', name],
      ['keys', 'list', `--${name}`],
    ];
    for (const args of commands) {
      const { output, complaints } = await run(...args);
      const text = `${output}${complaints}`.replaceAll('\n', '');
      const seen = { args, isSafe: !/\p{C}/u.test(text), isNamed: text.includes('u001b[31m') };
      expect(seen).toEqual({ args, isSafe: true, isNamed: true });
    }
  }, 60_000);

  test('E2 no text from callers reaches the terminal as an escape sequence', async () => {
    const { run, call } = deployment();
    await call([['acme', '\u001b[2J\u009b31m', 'x\u202ey\u{e0041}']]);
    for (const args of [['tail'], ['tail', '--json'], ['export'], ['export', '--format', 'csv']]) {
      const { output } = await run('audit', ...args);
      expect(output.replaceAll(/\r?\n/g, '')).not.toMatch(/\p{C}/u);
      expect(output).toContain('u001b[2J');
    }
  }, 60_000);
});

const PAGE_BYTES = 16_384;

function expectDamage({ code, output, complaints }: Run, what: string): void {
  expect({ code, complaints }).toEqual({ code: 1, complaints: '' });
  expect(output).toMatch(/^The record was tampered with or damaged\.\n  [^\n]+\n$/);
  expect(output).toContain(what);
}

function withoutBlanks(
  fields: readonly (readonly [name: string, value: unknown])[],
): Record<string, unknown> {
  const texts = fields.map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return Object.fromEntries(texts.filter(([, text]) => text !== ''));
}

/** The rows of a table by their headings. */
function tableIn(output: string): Record<string, string>[] {
  const [headings = '', ...lines] = output.trimEnd().split('\n');
  const columns = Array.from(headings.matchAll(/\S+ */g), ({ 0: heading, index }) => ({
    name: heading.trim(),
    from: index,
    to: heading.endsWith(' ') ? index + heading.length : undefined,
  }));
  return lines.map((line) =>
    Object.fromEntries(columns.map(({ name, from, to }) => [name, line.slice(from, to).trim()])),
  );
}

function readCells(line: string): string[] {
  return Array.from(line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g), ([, quoted, bare]) =>
    quoted === undefined ? bare! : quoted.replaceAll('""', '"'),
  );
}
