import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ServerQuestions } from './server-questions.ts';

test('a server that keeps asking without reading the answers gets a limited number of them', async () => {
  const questions = new ServerQuestions({ handlers: {}, server: () => 'it', maxOpen: 32, onWarning() {} });
  const waiting: (() => void)[] = [];
  const post = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  const ask = (): void =>
    questions.take({ kind: 'request', id: 1, method: 'ping', params: {} }, undefined, post);
  for (let count = 0; count < 1_000; count++) ask();
  await turn();
  expect(waiting.length).toBe(132);
  for (const take of waiting) take();
  await turn();
  ask();
  await turn();
  expect(waiting.length).toBe(133);
});
