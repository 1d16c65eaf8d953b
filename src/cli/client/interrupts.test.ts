import { expect, onTestFinished, test } from 'vitest';
import { watchInterrupts } from './interrupts.ts';

test('a Ctrl-C that npm passes on a second time counts once', () => {
  const interrupts = watchInterrupts();
  onTestFinished(interrupts.stop);
  const signal = interrupts.begin();
  process.emit('SIGINT', 'SIGINT');
  // A second one would end this process.
  process.emit('SIGINT', 'SIGINT');
  expect(signal.aborted).toBe(true);
});
