import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runTypeScript, startNode } from './behaviour/child.ts';

const CHROMIUM = '/usr/bin/chromium';
const example = join(import.meta.dirname, '../examples/browser.ts');

describe.skipIf(!existsSync(CHROMIUM))('a web page that calls a server of another origin', () => {
  test('reads results from an event stream if its origin is allowed (001-58)', async () => {
    const page = await openPage();
    await page.goto(await addressOfExample());
    await page.getByRole('button').click();
    await page.getByText('5 words').waitFor();
    await page.getByRole('textbox').fill('ü 💡');
    await page.getByRole('button').click();
    await page.getByText('2 words').waitFor();
    expect(await page.getByRole('status').textContent()).toBe('2 words');
  });

  test('cannot call if its origin is not allowed', async () => {
    const page = await openPage();
    await page.goto((await addressOfExample()).replace(HOST, 'other.example'));
    await page.getByText('Failed to fetch').waitFor();
    expect(await page.getByRole('button').isDisabled()).toBe(true);
  });
});

// Pages of this machine may always call, so this one is of a host that only the browser knows.
const HOST = 'page.example';

async function addressOfExample(): Promise<string> {
  return (await startNode([runTypeScript, example], { PAGE_HOST: HOST }).outputUntil('\n')).trim();
}

async function openPage(): Promise<Page> {
  const args = ['--no-sandbox', '--host-resolver-rules=MAP *.example 127.0.0.1'];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(15_000);
  return page;
}
