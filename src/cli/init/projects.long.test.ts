import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeProject, root, run, runScript, toolOf } from '../../../test/cli/projects.ts';

describe.each(['query', 'action', 'transformation'] as const)('a project for %s', (template) => {
  test('passes its own test', async () => {
    const tested = await runScript(await makeProject({ template }), 'test');
    expect(tested).toMatchObject({ code: 0, output: expect.stringMatching(/. pass [23]\n. fail 0/) });
  });

  test('passes its own type check', async () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    expect(await run(await makeProject({ template }), process.execPath, [tsc])).toEqual({
      code: 0,
      output: '',
    });
  });

  test('passes its own test in JavaScript', async () => {
    const folder = await makeProject({ template, language: 'javascript' });
    const tested = await runScript(folder, 'test');
    expect(tested).toMatchObject({ code: 0, output: expect.stringMatching(/. pass [23]\n. fail 0/) });
    expect(existsSync(join(folder, 'tsconfig.json'))).toBe(false);
    expect(await toolOf(folder)).toHaveProperty('handler');
  });

  test('negative control: its test fails when the tool is broken', async () => {
    const folder = await makeProject({ template });
    const file = readdirSync(join(folder, 'tools')).find((name) => !name.includes('.test.'));
    const path = join(folder, 'tools', file!);
    const loose = readFileSync(path, 'utf8').replace(
      /z\.strictObject\(\{\n[^]*?\n {4}\}\)/,
      'z.looseObject({})',
    );
    writeFileSync(path, loose);
    const broken = await runScript(folder, 'test');
    expect(broken).toMatchObject({ code: 1, output: expect.stringMatching(/. pass [12]\n. fail [12]/) });
  });
});
