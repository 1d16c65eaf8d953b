import { expect, onTestFinished, test, vi } from 'vitest';
import { hasBrowser } from './browser.ts';

test('a browser is expected with either kind of display, and not over SSH', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const named = ['SSH_CONNECTION', 'CI', 'DISPLAY', 'WAYLAND_DISPLAY'];
  for (const name of named) vi.stubEnv(name, '');
  vi.stubEnv('WAYLAND_DISPLAY', 'wayland-0');
  expect(hasBrowser()).toBe(true);
  vi.stubEnv('SSH_CONNECTION', '192.0.2.1 5000 192.0.2.2 22');
  expect(hasBrowser()).toBe(false);
});
