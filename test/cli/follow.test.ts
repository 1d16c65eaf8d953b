import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli, startNode } from '../behaviour/child.ts';
import { serve } from '../served.ts';

const files = {
  'tools/greet.ts': `import { defineTool } from 'toolcrib';
export const greet = defineTool({ name: 'greet', description: 'Greets.' }, () => 'Hello');`,
};

test.each([
  ['-f', []],
  ['--follow', ['--json']],
])('audit tail %s shows new rows as they are written, until Ctrl-C', async (flag, more) => {
  const { folder, connect } = await serve({ files });
  const peer = await connect('ada');
  await peer.call('greet');
  const config = ['--config', join(folder, 'toolcrib.yaml')];
  const child = startNode([cli, 'audit', 'tail', flag, '--tool', 'greet', ...config, ...more]);
  const first = await child.outputUntil('done');
  await peer.call('greet');
  const second = await child.outputUntil('done');
  child.process.kill('SIGINT');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(child.complaints()).toBe('');
  const lines = `${first}${second}`.trimEnd().split('\n');
  if (more.length === 0) {
    expect(lines[0]).toMatch(/^TIME +TENANT/);
    expect(lines.filter((line) => line.startsWith('TIME'))).toHaveLength(1);
    expect(lines.slice(1).every((line) => / north +ada .*greet/.test(line))).toBe(true);
  } else {
    const outcomes = lines.map((line) => JSON.parse(line)).filter(({ outcome }) => outcome === 'done');
    expect(outcomes.map(({ tool }) => tool)).toEqual(['greet', 'greet']);
  }
});
