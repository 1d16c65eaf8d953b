import { expect, onTestFinished, test } from 'vitest';
import { watchInterrupts } from './interrupts.ts';

test('Ctrl-C that npm passes on to a program that has had it is one Ctrl-C', () => {
  const interrupts = watchInterrupts();
  onTestFinished(interrupts.stop);
  const signal = interrupts.begin();
  process.emit('SIGINT', 'SIGINT');
  // A second one would end this process.
  process.emit('SIGINT', 'SIGINT');
  expect(signal.aborted).toBe(true);
});
