import { spawn } from 'node:child_process';
import { once } from 'node:events';

const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
};

/** Whether a browser of this person can be expected on this machine. */
export function hasBrowser(): boolean {
  const { env, platform } = process;
  if (env['SSH_CONNECTION'] || env['CI']) return false;
  return platform !== 'linux' || [env['DISPLAY'], env['WAYLAND_DISPLAY']].some(Boolean);
}

/** Opens a page in the person's browser, without a shell; fails if there is none. */
export async function openBrowser(url: string): Promise<void> {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true, shell: false });
  child.unref();
  await once(child, 'spawn');
}
